package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"capgnn/gpu"
	"capgnn/internal/together"
	"capgnn/pipeline/link"
)

// Ranks connects this process to the other processes of a run. Each rank has consecutive parts, rank 0 the first
// ones.
type Ranks = together.Ranks

// RankPair is what one rank sent another. Rows count in the epoch that computed them.
type RankPair = together.Pair

// join lets gradients, weights and rows travel to other ranks. What only keeps accounts moves nothing.
func (t *Trainer) join() error {
	if !t.Options.Several() || !slices.ContainsFunc(t.o.Devices, func(d gpu.Device) bool { return !keepsAccounts(d) }) {
		return nil
	}
	for _, f := range t.halo.Facts {
		t.RankOf = append(t.RankOf, f.Rank)
	}
	t.Sent = t.sentInEpoch
	if err := t.Join(link.Over(t.o.Ranks, t.Hub), t.halo.Areas()); err != nil {
		return err
	}
	t.halo.Join()
	return nil
}

// sentInEpoch returns what others have sent for the epoch under way. All rows of an epoch have come when its parts are
// done, and no others: before a rank sends those of the next one it has the numbers of this one. But where rows lag,
// some of them are under way still, and some that came were of the epoch before: then what is sent by the plan counts,
// with the frames that have come.
func (t *Trainer) sentInEpoch(came []RankPair) (all []RankPair) {
	if !t.halo.Lags() {
		return came
	}
	me := t.o.Ranks.Rank()
	for from := range t.o.Ranks.Ranks() {
		x := RankPair{From: from, To: me, Rows: gpu.Bytes(t.halo.Crosses(from, t.Hub.Epoch))}
		if from == me-1 || from == me+1 {
			x.Rows += gpu.Bytes(t.Reduce.Bytes())
		}
		if k := slices.IndexFunc(came, func(y RankPair) bool { return y.From == from }); k >= 0 {
			x.Frames = came[k].Frames
		}
		if from != me && x.Rows > 0 {
			all = append(all, x)
		}
	}
	return all
}

// Waits names what this process waits for from another one, such as "halo rows of layer 1 forward of rank 1"; "" =
// nothing. Any goroutine may call it.
func (t *Trainer) Waits() string {
	if t.Joined {
		if x := t.Watch.Now(); x != nil {
			rank := t.RankOf[x.For]
			if strings.HasPrefix(x.What, "to ") {
				return fmt.Sprintf("rank %d %s", rank, x.What)
			}
			return fmt.Sprintf("%s of rank %d", x.What, rank)
		}
	}
	return t.Gathering()
}
