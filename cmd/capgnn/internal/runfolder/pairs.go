package runfolder

import (
	"cmp"
	"fmt"
	"slices"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/runfile"
	"capgnn/pipeline"
)

// maxPairsInMetrics bounds what a line says of other ranks, to about 20 KiB: all pairs of 16 ranks.
const maxPairsInMetrics = 16 * 15

// trafficOf returns the lines of an epoch; nil where there is one process, or more ranks than a line has room for.
func trafficOf(pairs []pipeline.RankPair) (all []runfile.Pair) {
	if len(pairs) > maxPairsInMetrics {
		return nil
	}
	for _, p := range pairs {
		all = append(all, runfile.Pair{From: p.From, To: p.To, Rows: int64(p.Rows), Frames: int64(p.Frames), WaitS: p.Wait.Seconds()})
	}
	return all
}

// ReadTraffic returns the sums over the epochs of a metrics file, by To and then From; nil where there was one process.
func ReadTraffic(path string) ([]runfile.Pair, error) {
	sums := map[[2]int]runfile.Pair{}
	err := eachLine(path, "traffic between ranks", func(e *struct {
		Pairs []runfile.Pair `json:"pairs"`
	}) {
		for _, p := range e.Pairs {
			s := sums[[2]int{p.To, p.From}]
			sums[[2]int{p.To, p.From}] = runfile.Pair{From: p.From, To: p.To, Rows: s.Rows + p.Rows, Frames: s.Frames + p.Frames,
				WaitS: s.WaitS + p.WaitS}
		}
	})
	if err != nil {
		return nil, err
	}
	var all []runfile.Pair
	for _, p := range sums {
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y runfile.Pair) int { return cmp.Or(x.To-y.To, x.From-y.From) })
	return all, nil
}

// betweenRanks says in a line what ranks sent each other, and which one was waited for longest.
func (r *Result) betweenRanks() string {
	bytes := int64(0)
	wait := make([]float64, len(r.Hosts)) // by rank: how long another one waited for it, mean over the others
	for _, p := range r.Pairs {
		bytes += p.Frames
		if p.From < len(wait) {
			wait[p.From] += p.WaitS / float64(len(wait)-1)
		}
	}
	text := fmt.Sprintf("%s between %s", term.Size(bytes), term.Counted(len(r.Hosts), "rank"))
	if len(wait) == 0 || slices.Max(wait) == 0 {
		return text
	}
	slowest := slices.Index(wait, slices.Max(wait))
	return text + fmt.Sprintf(", waited longest for rank %d (%s): %s", slowest, r.Hosts[slowest], term.Duration(&wait[slowest]))
}
