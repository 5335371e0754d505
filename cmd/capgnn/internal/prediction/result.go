package prediction

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
)

// Result is what `predict --json` prints.
type Result struct {
	Dataset   string      `json:"dataset"`
	RunDir    string      `json:"run_dir"`
	Weights   string      `json:"weights"`
	What      string      `json:"what"`
	Layer     *int        `json:"layer"` // of embeddings, from 0
	Vertices  int         `json:"vertices"`
	Columns   int         `json:"columns"` // 1 for one label per vertex
	Out       string      `json:"out"`
	Seconds   float64     `json:"seconds"` // placing, forward pass and copies
	Devices   []string    `json:"devices"`
	PeakBytes []gpu.Bytes `json:"peak_bytes"` // per device
}

// Print writes the result: a JSON line, or a small table.
func (r *Result) Print(k *term.Console) error {
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(r)
	}
	t := tabwriter.NewWriter(k.Out, 0, 0, 2, ' ', 0)
	what := r.What
	if r.Layer != nil {
		what = fmt.Sprintf("%s of hidden layer %d", what, *r.Layer)
	}
	term.Row(t, "dataset", r.Dataset)
	term.Row(t, "weights", r.Weights)
	term.Row(t, what, fmt.Sprintf("%d × %d in %s", r.Vertices, r.Columns, term.Duration(&r.Seconds)))
	term.Row(t, "file", r.Out)
	return t.Flush()
}
