package gnn

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"capgnn/hostmem"
	"capgnn/model"
)

// A program is read in time that grows with its length: sums of sums that each read the one before once or twice.
func TestCustomLongSums(t *testing.T) {
	for _, c := range []struct {
		length int
		in     string
	}{{40, "%[1]q, %[1]q"}, {100_000, "%[1]q"}} {
		var b strings.Builder
		b.WriteString(`{"capgnn_model": 1, "features": 6, "outputs": 3, "graphs": {"g": {}}, "tensors": {"W": [3, 6], "b": [3]}, "nodes": [
			["x", "input"], ["l", "linear", ["x", "W"]], ["e", "src", ["l"], {"graph": "g"}], ["r", "sum_in", ["e"], {"graph": "g"}]`)
		last := "r"
		for i := range c.length {
			name := fmt.Sprintf("r%d", i)
			fmt.Fprintf(&b, `, [%q, "add", [%s]]`, name, fmt.Sprintf(c.in, last))
			last = name
		}
		fmt.Fprintf(&b, `, ["o", "add", [%q, "b"]]], "logits": "o"}`, last)
		p, err := model.Parse([]byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		begin := hostmem.ProcessorTime()
		if _, err := fuse(p); err != nil {
			t.Errorf("%d sums: %v", c.length, err)
		}
		if took := hostmem.ProcessorTime() - begin; took > 5*time.Second {
			t.Errorf("%d sums took %v of processor time", c.length, took)
		}
	}
}
