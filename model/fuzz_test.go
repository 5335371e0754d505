package model_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"capgnn/model"
)

// Whatever a file says, it is refused in one line, or is a program that is written as it was read, whose nodes read
// earlier ones, and whose shapes are within bounds. Memory grows with the file alone.
func FuzzProgram(f *testing.F) {
	for _, b := range model.Builders {
		for _, a := range arguments(b) {
			p, err := b.Build(a)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(p.JSON())
		}
	}
	f.Add([]byte(example))
	f.Add([]byte(strings.Replace(example, `["w", "const", [], {"what": "gcn_norm", "graph": "a"}]`,
		`["w", "const", [], {"what": "number", "value": 1}], ["q", "product", ["x", "w1"], {"spec": "ni,oj->nijo"}], ["r", "fold", ["q"], {"how": "max", "axis": 2}]`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := model.Parse(data)
		runtime.ReadMemStats(&after)
		if taken, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+400*len(data)); taken > most {
			t.Errorf("%d bytes are read into %d", len(data), taken)
		}
		if err != nil {
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 2000 {
				t.Errorf("the error is no line: %q", err)
			}
			return
		}
		text := p.JSON()
		q, err := model.Parse(text)
		if err != nil || !bytes.Equal(q.JSON(), text) || q.SHA256() != p.SHA256() {
			t.Fatalf("%v: %s is read as another program than it was", err, text)
		}
		for i, n := range p.Nodes {
			for _, k := range n.In {
				if k < 0 || k >= i {
					t.Errorf("node %d reads node %d", i, k)
				}
			}
			if i >= p.Tensors && (n.Columns() < 1 || n.Columns() > 1<<30) {
				t.Errorf("node %d has %d columns", i, n.Columns())
			}
		}
		p.Reach()
		p.Depth()
		p.Fixed()
		if d := p.Demand(1<<40, 1<<50); d.Values < 0 || d.Parameters < 0 || !(d.Operations >= 0) {
			t.Errorf("it takes %+v", d)
		}
	})
}
