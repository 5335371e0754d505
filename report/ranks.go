package report

import (
	"cmp"
	"fmt"
	"slices"
)

// Bounds of what is drawn of ranks: numbers beyond them are of no run.
const (
	maxRanks     = maxPartBars
	maxPairLines = 30 // of more pairs the table has those that were waited for longest
)

// traffic is what ranks sent each other in a mean epoch.
type traffic struct {
	ranks  int
	pairs  []pairMean // by from and then to
	wait   []float64  // by rank: how long another one waited for it, mean over the others
	epochs int
	epochS float64 // of the epochs that the pairs are of
}

// pairMean is what one rank sends another: bytes, and the seconds that devices of to wait for from.
type pairMean struct {
	from, to     int
	frames, wait float64
}

// traffic returns what the epochs say of ranks; nil where there was one process.
func (r *Run) traffic() *traffic {
	t := &traffic{}
	sums := map[[2]int]*pairMean{}
	for i := range r.Epochs {
		e := &r.Epochs[i]
		if len(e.Pairs) == 0 {
			continue
		}
		t.epochs++
		t.epochS += e.EpochS
		for _, p := range e.Pairs {
			if min(p.From, p.To) < 0 || max(p.From, p.To) >= maxRanks || !(p.Frames >= 0 && p.WaitS >= 0 && p.WaitS <= largest) {
				continue
			}
			t.ranks = max(t.ranks, p.From+1, p.To+1)
			s := sums[[2]int{p.From, p.To}]
			if s == nil {
				s = &pairMean{from: p.From, to: p.To}
				sums[[2]int{p.From, p.To}] = s
			}
			s.frames, s.wait = s.frames+float64(p.Frames), s.wait+p.WaitS
		}
	}
	if len(sums) == 0 {
		return nil
	}
	t.epochS /= float64(t.epochs)
	t.wait = make([]float64, t.ranks)
	for _, s := range sums {
		s.frames, s.wait = s.frames/float64(t.epochs), s.wait/float64(t.epochs)
		t.wait[s.from] += s.wait / float64(t.ranks-1)
		t.pairs = append(t.pairs, *s)
	}
	slices.SortFunc(t.pairs, func(x, y pairMean) int { return cmp.Or(x.from-y.from, x.to-y.to) })
	return t
}

// rankName is the label of a rank: its number and its machine.
func (r *Run) rankName(rank int) string {
	if r.Result != nil && rank >= 0 && rank < len(r.Result.Hosts) {
		return fmt.Sprintf("rank %d · %s", rank, r.Result.Hosts[rank])
	}
	return fmt.Sprintf("rank %d", rank)
}

// rankSection draws what travelled between machines, and who was waited for.
func (r *Run) rankSection() (section, bool) {
	t := r.traffic()
	if t == nil {
		return section{}, false
	}
	text := "No rank waited for another."
	if slowest := slices.Index(t.wait, slices.Max(t.wait)); t.wait[slowest] > 0 {
		text = fmt.Sprintf("The others waited longest for %s: %s of a mean epoch of %s.", r.rankName(slowest), written(seconds, t.wait[slowest]), written(seconds, t.epochS))
	}
	var labels []string
	var waits []map[string]float64
	rows := make([][]float64, t.ranks)
	for rank := range t.ranks {
		labels, waits = append(labels, r.rankName(rank)), append(waits, map[string]float64{"wait": t.wait[rank]})
		rows[rank] = make([]float64, t.ranks)
	}
	for _, p := range t.pairs {
		rows[p.from][p.to] = p.frames
	}
	return sectionOf("Between machines", text,
		barsOf(bars{ID: "rank-waits", Title: "Time of a mean epoch that others waited for a rank", Note: "mean over the others"}, seconds, []kind{{"wait", "their devices had nothing to compute", 4}}, labels, waits),
		matrixOf(matrix{ID: "rank-pairs", Title: "Bytes from rank to rank in a mean epoch", Note: "row: the rank that sends; column: the rank that receives",
			Down: "sent by", Across: "received by rank", Says: "rank %d sends %s to rank %d"}, amount, rows),
		r.rankBytesChart(), t.table())
}

// table lists the pairs.
func (t *traffic) table() *table {
	out := &table{ID: "ranks", Columns: []string{"from rank", "to rank", "bytes", "rate", "wait"},
		Note: "Of a mean epoch. Bytes: all that travelled, gradients and weights included. Rate: bytes over the whole epoch, not what the line could carry. Wait: how long devices of the receiver had nothing to compute."}
	shown := t.pairs
	if len(shown) > maxPairLines {
		shown = slices.Clone(shown)
		slices.SortStableFunc(shown, func(x, y pairMean) int { return cmp.Compare(y.wait, x.wait) })
		shown = shown[:maxPairLines]
		out.Note = fmt.Sprintf("The %d of %d pairs that were waited for longest. ", len(shown), len(t.pairs)) + out.Note
	}
	for _, p := range shown {
		rate := "-"
		if t.epochS > 0 {
			rate = written(amount, p.frames/t.epochS) + "/s"
		}
		out.Rows = append(out.Rows, []string{fmt.Sprint(p.from), fmt.Sprint(p.to), written(amount, p.frames), rate, written(seconds, p.wait)})
	}
	return out
}

// rankBytesChart draws all that travelled between ranks.
func (r *Run) rankBytesChart() *chart {
	d := overEpochs("rank-bytes", "Bytes between ranks", amount)
	d.zero, d.note = true, "over all connections"
	p := points{Name: "all ranks"}
	for i := range r.Epochs {
		sum := 0.0
		for _, q := range r.Epochs[i].Pairs {
			sum += float64(q.Frames)
		}
		if sum > 0 {
			p.add(float64(r.Epochs[i].Epoch), sum)
		}
	}
	return d.draw(p)
}
