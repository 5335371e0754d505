package trainer

import (
	"fmt"
	"slices"
	"time"

	"capgnn/cluster"
	"capgnn/gpu"
	"capgnn/internal/together"
	"capgnn/pipeline/link"
)

// What ranks tell each other beside rows and gradients, in the order of a run: a record of each part, which any
// rank can make a sum of, or what rank 0 has.
const (
	TagFacts uint32 = 1 + iota
	TagBuilt
	TagResume
	TagFound
	TagRefilled
	TagSteps
	TagLayer
	TagEvaluation
	TagScores
	TagDivergence
	TagSave
	TagCaches
	TagHalo
	TagSection
	TagLast
	TagOutputs
)

// tagNames says what a rank waits for meanwhile.
var tagNames = [...]string{TagFacts: "what others know of their devices", TagBuilt: "others to place their parts",
	TagResume: "rank 0 to say how the run begins", TagFound: "rank 0 to read the checkpoint",
	TagRefilled: "others to fill their row caches", TagSteps: "the numbers of the steps", TagLayer: "rows of a layer",
	TagEvaluation: "scores", TagScores: "scores of vertices", TagDivergence: "outputs that are no numbers",
	TagSave: "rank 0 to decide if a checkpoint follows", TagCaches: "what row caches remember",
	TagHalo: "what others hold of halo rows", TagSection: "a piece of the checkpoint", TagLast: "the last numbers",
	TagOutputs: "predictions"}

// Numbers of areas: of gradients and weights between neighbours, of what follows a step, and then of rows.
const (
	GradientArea uint32 = iota
	WeightArea
	ConsensusArea
	FirstRowArea
)

// Talk is this process's side of what ranks say to each other.
func (t *Trainer) Talk() together.Talk {
	talk := together.Talk{Parts: t.Options.Parts, Names: tagNames[:], Waits: &t.gathering}
	if t.Options.Several() {
		talk.Ranks = t.Options.Ranks
	}
	return talk
}

// joined is Talk of ranks that may train together: without it, one that only keeps accounts would wait for others.
func (t *Trainer) joined() together.Talk {
	talk := t.Talk()
	if !t.Joined {
		talk.Ranks = nil
	}
	return talk
}

// Gather returns the records of all parts, in part order: those of this process, which are given, and those of others.
func Gather[T any](t *Trainer, tag uint32, own []T) ([]T, error) {
	return together.Gather(t.Hub.Context(), t.Talk(), tag, own)
}

// FromRank0 returns what rank 0 has; in one process own.
func FromRank0[T any](t *Trainer, tag uint32, own T) (T, error) {
	return together.First(t.Hub.Context(), t.joined(), tag, own)
}

// Join lets gradients, weights and what there are areas for travel to other ranks. RankOf says where parts are.
func (t *Trainer) Join(net *link.Net, areas []cluster.Area) error {
	o := &t.Options
	areas = append(areas, t.meetings.over(net, t.RankOf)...)
	t.counter = together.NewCounter(o.Ranks)
	if t.Reduce != nil {
		areas = append(t.Reduce.Areas(GradientArea, WeightArea), areas...)
	}
	if err := o.Ranks.Announce(t.Hub.Context(), areas); err != nil {
		return fmt.Errorf("agree on the memory between ranks: %w", err)
	}
	t.Joined = true
	t.meetings.open()
	var queues []gpu.Queue
	for _, w := range t.Crew.Workers {
		queues = append(queues, w.Compute)
	}
	t.Watch = t.Hub.Watch(o.First, queues)
	go func() { // ends with the run
		select {
		case <-o.Ranks.Done():
			t.Hub.Fail(o.Ranks.Err())
		case <-t.Hub.Context().Done():
		}
	}()
	if t.Reduce != nil {
		t.Reduce.Join(net, GradientArea, WeightArea, t.Crew.Workers[0].Locking(o.Lock))
	}
	return nil
}

// Gathering names what this process waits for beside rows, gradients and weights; "": nothing.
func (t *Trainer) Gathering() string {
	if what := t.gathering.Load(); what != nil {
		return *what
	}
	return ""
}

// Waiting is said while this process does something that others are waited for in.
func (t *Trainer) Waiting(tag uint32) (done func()) {
	t.gathering.Store(&tagNames[tag])
	return func() { t.gathering.Store(nil) }
}

// Received returns what other ranks have sent since the last call, and how long it was waited for.
func (t *Trainer) Received() []together.Pair {
	if !t.Joined {
		return nil
	}
	all, waited := t.counter.Take(), make([]time.Duration, t.Options.Ranks.Ranks())
	if t.Sent != nil {
		all = t.Sent(all)
	}
	for part, d := range t.Watch.Take() {
		waited[t.RankOf[part]] += d / time.Duration(len(t.Crew.Workers))
	}
	for i := range all {
		all[i].Wait = waited[all[i].From]
	}
	return all
}

// addPairs adds what ranks have sent each other to sums.
func addPairs(sums, more []together.Pair) []together.Pair {
	for _, x := range more {
		k := slices.IndexFunc(sums, func(y together.Pair) bool { return y.From == x.From && y.To == x.To })
		if k < 0 {
			sums = append(sums, x)
			continue
		}
		y := &sums[k]
		y.Rows, y.Frames, y.Wait = y.Rows+x.Rows, y.Frames+x.Frames, y.Wait+x.Wait
	}
	return sums
}
