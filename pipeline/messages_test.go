package pipeline

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/pipeline/halo"
)

// messaging are models with functions of both ends of edges, as overAll: between a convolution and another one.
var messaging = map[string][2]string{
	"largest and least": {`"a": [5, 10],`, `["h", "relu", ["z"]], ["s", "src", ["h"], {"graph": "gr"}], ["m", "max_in", ["s"], {"graph": "gr"}],
		["no", "add", ["h"], {"coef": [-1]}], ["sn", "src", ["no"], {"graph": "gr"}], ["l", "max_in", ["sn"], {"graph": "gr"}],
		["c", "concat", ["m", "l"]], ["y", "linear", ["c", "a"]]`},
	"gate beside a mean": {`"k": [5, 5], "kb": [5], "q": [5, 5], "v": [5, 5],`, `["kx", "linear", ["z", "k", "kb"]], ["qx", "linear", ["z", "q"]], ["vx", "linear", ["z", "v"]],
		["dk", "dst", ["kx"], {"graph": "gr"}], ["s", "src", ["qx"], {"graph": "gr"}], ["t", "add", ["dk", "s"]], ["g", "sigmoid", ["t"]],
		["ev", "src", ["vx"], {"graph": "gr"}], ["mv", "mul", ["g", "ev"]], ["o", "sum_in", ["mv"], {"graph": "gr"}],
		["sz", "src", ["z"], {"graph": "gr"}], ["sm", "sum_in", ["sz"], {"graph": "gr"}], ["n", "const", [], {"graph": "gr", "what": "in_count"}],
		["mean", "div", ["sm", "n"]], ["y", "add", ["o", "mean"]]`},
	"attention to products by head, dropped": {`"q": [10, 5], "k": [10, 5], "kb": [10], "v": [10, 5], "t": [2],`, `["qx", "linear", ["z", "q"]], ["kx", "linear", ["z", "k", "kb"]],
		["vx", "linear", ["z", "v"]], ["qh", "reshape", ["qx"], {"shape": [2, 5]}], ["kh", "reshape", ["kx"], {"shape": [2, 5]}],
		["vh", "reshape", ["vx"], {"shape": [2, 5]}], ["dq", "dst", ["qh"], {"graph": "gr"}], ["sk", "src", ["kh"], {"graph": "gr"}],
		["sv", "src", ["vh"], {"graph": "gr"}], ["qk", "mul", ["sk", "dq"]], ["fo", "fold", ["qk"], {"how": "sum", "axis": 1}],
		["sc", "add", ["fo"], {"coef": [0.5]}], ["st", "mul", ["sc", "t"]], ["a", "softmax_in", ["st"], {"graph": "gr"}],
		["ad", "dropout", ["a"], {"p": 0.25}], ["ar", "reshape", ["ad"], {"shape": [2, 1]}], ["m", "mul", ["ar", "sv"]],
		["o", "sum_in", ["m"], {"graph": "gr"}], ["y", "fold", ["o"], {"how": "mean", "axis": 0}]`},
	"attention to itself beside a sum": {`"b": [1],`, `["sz", "src", ["z"], {"graph": "gr"}], ["dz", "dst", ["z"], {"graph": "gr"}], ["p", "mul", ["dz", "sz"]],
		["fo", "fold", ["p"], {"how": "sum", "axis": 0}], ["be", "reshape", ["b"], {"shape": []}], ["sc", "mul", ["be", "fo"]],
		["a", "softmax_in", ["sc"], {"graph": "gr"}], ["m", "mul", ["sz", "a"]], ["o", "sum_in", ["m"], {"graph": "gr"}],
		["s", "sum_in", ["sz"], {"graph": "gr"}], ["y", "add", ["o", "s"]]`},
	"softmax by column": {`"t": [1],`, `["h", "tanh", ["z"]], ["s", "src", ["h"], {"graph": "gr"}], ["st", "mul", ["s", "t"]], ["a", "softmax_in", ["st"], {"graph": "gr"}],
		["m", "mul", ["a", "s"]], ["y", "sum_in", ["m"], {"graph": "gr"}]`},
}

// Gradients and logits are those of the definition in float64 on any number of parts, and the bits those of ranks and of resumed runs.
func TestMessages(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(messaging))
	asDefined(t, names)
	overRanks(t, names)
}

// Halo rows that are old or rounded are refused, and so are isolated parts; evaluation in chunks is that of the whole.
func TestMessagesOtherwise(t *testing.T) {
	t.Parallel()
	for name := range messaging {
		p, m := summing(t, name)
		for what, change := range map[string]func(o *Options){
			"of one epoch":                 func(o *Options) { o.Cache.Staleness = 2 },
			"have to be exact":             func(o *Options) { o.Cache.HaloType = halo.Int8 },
			"several graphs or weights of": func(o *Options) { o.Isolated = &Isolated{AllLayers: true} },
		} {
			o := Options{Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.SGD, LR: 0.1}, Epochs: 1}, Devices: cpus(t, 2), Part: scatterParts(p.Vertices(), 2)}
			change(&o)
			if _, err := New(t.Context(), p, o); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: got %v, want %q", name, err, what)
			}
		}
		w := weightsOf(t, m, nil)
		rows := func(chunks bool) []float32 {
			got, err := Predict(t.Context(), p, PredictOptions{Model: netOf(m), Weights: w, Devices: cpus(t, 1), Part: make([]int32, p.Vertices()), Chunks: chunks})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if want, got := rows(false), rows(true); !slices.Equal(got, want) {
			t.Errorf("%s: logits in chunks differ", name)
		}
	}
}
