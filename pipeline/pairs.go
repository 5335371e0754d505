package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"capgnn/gpu"
	"capgnn/internal/together"
	"capgnn/pipeline/halo"
)

// RankPair is what one rank sent another. Rows count in the epoch that computed them.
type RankPair = together.Pair

// pairs counts what other ranks send this one. All rows of an epoch have come when its parts are done, and no others: before a rank sends those of the
// next one it has the numbers of this one.
type pairs struct {
	*together.Counter
	of []int // the rank of every part
}

// newPairs counts what comes from now on. facts are those of all parts.
func newPairs(ranks Ranks, facts []halo.Facts) *pairs {
	p := &pairs{Counter: together.NewCounter(ranks)}
	for _, f := range facts {
		p.of = append(p.of, f.Rank)
	}
	return p
}

// receivedInEpoch returns what other ranks have sent since the last call, and how long it was waited for.
func (t *Trainer) receivedInEpoch() []RankPair {
	if !t.joined {
		return nil
	}
	all := t.pairs.Take()
	if t.halo.Lags() { // some of them are under way still, and some that came were of the epoch before: what was sent counts
		all = t.sentInEpoch(all)
	}
	waited := make([]time.Duration, t.o.Ranks.Ranks())
	for part, d := range t.watch.Take() {
		waited[t.pairs.of[part]] += d / time.Duration(len(t.workers))
	}
	for i := range all {
		all[i].Wait = waited[all[i].From]
	}
	return all
}

// sentInEpoch returns what others have sent for the epoch under way, by the plan, with the frames that have come.
func (t *Trainer) sentInEpoch(came []RankPair) (all []RankPair) {
	me := t.o.Ranks.Rank()
	for from := range t.o.Ranks.Ranks() {
		x := RankPair{From: from, To: me, Rows: gpu.Bytes(t.halo.Crosses(from, t.hub.Epoch))}
		if from == me-1 || from == me+1 {
			x.Rows += gpu.Bytes(t.reduce.Bytes())
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
	if t.joined {
		if x := t.watch.Now(); x != nil {
			rank := t.pairs.of[x.For]
			if strings.HasPrefix(x.What, "to ") {
				return fmt.Sprintf("rank %d %s", rank, x.What)
			}
			return fmt.Sprintf("%s of rank %d", x.What, rank)
		}
	}
	if what := t.gathering.Load(); what != nil {
		return *what
	}
	return ""
}
