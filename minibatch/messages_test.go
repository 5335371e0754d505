package minibatch

import (
	"fmt"
	"math"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu/host"
	"capgnn/internal/interpreter/programs"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
	"capgnn/model"
	"capgnn/pipeline"
)

// attending is a program with attention to products of rows, of so many features and outputs.
const attending = `{"capgnn_model": 1, "features": %[1]d, "outputs": %[2]d, "graphs": {"g": {}, "l": {"of": "g", "do": "full_loops"}},
	"tensors": {"q": [6, %[1]d], "k": [6, %[1]d], "v": [6, %[1]d], "w": [%[2]d, 6]}, "nodes": [["x", "input"],
	["qx", "linear", ["x", "q"]], ["kx", "linear", ["x", "k"]], ["vx", "linear", ["x", "v"]], ["qh", "reshape", ["qx"], {"shape": [2, 3]}],
	["kh", "reshape", ["kx"], {"shape": [2, 3]}], ["vh", "reshape", ["vx"], {"shape": [2, 3]}], ["dq", "dst", ["qh"], {"graph": "l"}],
	["sk", "src", ["kh"], {"graph": "l"}], ["sv", "src", ["vh"], {"graph": "l"}], ["p", "mul", ["dq", "sk"]], ["f", "fold", ["p"], {"how": "sum", "axis": 1}],
	["a", "softmax_in", ["f"], {"graph": "l"}], ["r", "reshape", ["a"], {"shape": [2, 1]}], ["m", "mul", ["r", "sv"]], ["s", "sum_in", ["m"], {"graph": "l"}],
	["h", "reshape", ["s"], {"shape": [6]}], ["e", "src", ["h"], {"graph": "g"}], ["y", "sum_in", ["e"], {"graph": "g"}], ["z", "linear", ["y", "w"]]], "logits": "z"}`

// All neighbours of all vertices in one step is full-batch training of programs with functions of both ends of edges, on any number of
// parts that share no row.
func TestMessagesOfWholeSteps(t *testing.T) {
	taken := 0
	for seed := uint64(1); taken < 9; seed += 5 {
		p, _ := normed(t, named.GCN)
		text := programs.Draw(seed, p.Features.Cols, p.Classes)
		if taken == 8 {
			text = fmt.Sprintf(attending, p.Features.Cols, p.Classes)
		}
		program, err := model.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		custom, err := gnn.NewModel(program)
		if err != nil {
			continue
		}
		m := custom.Config(false, 5)
		if !m.Messages() || m.AllRows() || m.DropsFeatures() {
			continue
		}
		taken++
		for _, parts := range []int{1, 2, 3} {
			q, part := *p, homes(p.Vertices(), parts)
			if parts > 1 {
				q.Graph = inPieces(p.Graph, part)
			}
			made, err := q.For(m)
			if err != nil {
				t.Fatal(err)
			}
			fan := make([]int, m.Layers)
			for l := range fan {
				fan[l] = sample.All
			}
			rule := gnn.Optimizer{Kind: gnn.SGD, LR: 0.01}
			got := trained(t, made, Options{Training: Training{Model: m, Optimizer: rule, Epochs: 2}, Devices: devices(t, parts, host.Spec{}), Part: part,
				Sampling: Sampling{BatchSize: p.Vertices(), Fanout: fan, Local: true}})
			tr, err := pipeline.New(t.Context(), made, pipeline.Options{Training: pipeline.Training{Model: m, Optimizer: rule, Epochs: 2},
				Devices: devices(t, 1, host.Spec{}), Part: make([]int32, p.Vertices())})
			if err != nil {
				t.Fatal(err)
			}
			want, err := tr.Run(t.Context())
			tr.Close()
			if err != nil {
				t.Fatal(err)
			}
			from := gnn.NewWeights(m)
			from.Init(m.Seed)
			name := fmt.Sprintf("seed %d, %d parts", seed, parts)
			closeTo(t, name, got.Weights, want.Weights, from, 1e-3)
			if math.Abs(got.FinalLoss-want.FinalLoss) > 1e-5*want.FinalLoss {
				t.Errorf("%s: loss %v, want %v", name, got.FinalLoss, want.FinalLoss)
			}
		}
	}
}
