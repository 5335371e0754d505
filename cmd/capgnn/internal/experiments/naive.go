package experiments

import (
	"fmt"
	"strconv"

	"capgnn/graph"
	"capgnn/internal/bench"
	"capgnn/internal/learn"
	"capgnn/minibatch/sample"
)

// naive counts what an epoch moves if models go to where rows are, whole steps (HopGNN, section 3.2). Model d computes the d-th share of a step's roots. It goes to all parts
// in turn and back; at each, the rows there are added to the sums of the first layer. Each time it takes along its weights, the edges of its sample, and of every
// vertex that the first layer computes the sum so far, which is as wide as features: the gradient of the weights needs it. What else the backward pass needs is not counted.
func (s traced) naive(l *bench.Line, p *learn.Problem, order []graph.NodeID, batch int) {
	sampler := sample.New(sample.Topology{Graph: p.Graph, Loops: p.Loops}, sample.Rules{Seed: s.seed, Fanout: s.fanout})
	var st sample.Stack
	sums, edges, moves := 0, int64(0), 0
	for lo := 0; lo < len(order); lo += batch {
		roots := order[lo:min(lo+batch, len(order))]
		for d := range s.parts {
			sampler.Draw(&st, uint32(lo/batch), roots[len(roots)*d/s.parts:len(roots)*(d+1)/s.parts])
			sums += s.parts * st.Blocks[len(st.Blocks)-1].Rows
			edges += int64(s.parts) * st.Edges
			moves += s.parts
		}
	}
	l.Values["naive bytes"], l.Values["naive moves"] = 4*(float64(sums)*float64(p.Features.Cols)+float64(edges)), float64(moves)
}

// naiveTable is Fig. 7.
func (h *hops) naiveTable() bench.Table {
	t := bench.Table{Title: "Fig. 7: MiB of an epoch if models move", Columns: []string{"data set", "partitioner", "parts", "batch", "naive, hidden 16", "hidden 128", "hop, gathered, hidden 128", "home", "naive / batch"},
		Note: "naive: models with whole steps go to where rows are, with the edges and the sums of the first layer; by formula, and at least. hop: with the gradients that models take along. Weights' gradients are added up in all of them, and not counted. HopGNN: naive moves up to 2.59 times as much."}
	h.each(func(s traced) {
		lines, m := h.placed(s), h.b.line(s.id(micro))
		if m.Value("naive bytes") == 0 { // sparse features
			return
		}
		naive := func(hidden int) float64 {
			return m.Value("naive bytes") + m.Value("naive moves")*m.Value(modelName(hidden))
		}
		batch, wide := lines[atBatch].Value("demand bytes"), hiddens[len(hiddens)-1]
		carried := lines[atHop].Value("steps") * float64(s.parts*(s.parts-1)) * m.Value(modelName(wide))
		row := []string{shortDataset(s.dataset), string(s.method), strconv.Itoa(s.parts)}
		for _, x := range []float64{batch, naive(hiddens[0]), naive(wide), lines[atHop].Value("demand bytes") + carried, lines[atHome].Value("demand bytes")} {
			row = append(row, fmt.Sprintf("%.1f", x/(1<<20)))
		}
		t.Add(append(row, ratio(naive(wide), batch))...)
	})
	return t
}
