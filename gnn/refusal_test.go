package gnn

import (
	"strings"
	"testing"

	"capgnn/model"
)

// What is refused says why, and what to do.
func TestCustomRefusesWithCause(t *testing.T) {
	const sum = `["l", "linear", ["x", "W"]], ["e", "src", ["l"], {"graph": "g"}], ["s", "sum_in", ["e"], {"graph": "g"}], `
	for _, c := range []struct{ nodes, want string }{
		{sum + `["v", "tanh", ["b"]], ["o", "layer_norm", ["s", "v", "c"]]`, `node "v": tanh is read in place of a tensor: read the tensor itself`},
		{`["l", "linear", ["x", "W"]], ["e", "dst", ["l"], {"graph": "g"}], ["o", "max_in", ["e"], {"graph": "g"}]`, `node "o": max_in is known of src, of rows with one axis: read that`},
		{`["l", "linear", ["x", "W"]], ["e", "dst", ["l"], {"graph": "g"}], ["o", "sum_in", ["e"], {"graph": "g"}]`, `node "o": sum_in is known of products of src, dst, one function of a dst + a src, and a constant`},
		{sum + `["d", "const", [], {"what": "in_degree", "graph": "g"}], ["o", "mul", ["s", "d"]]`, `node "d": the constant in_degree is read where rows are`},
		{sum + `["q", "product", ["s", "wide"], {"spec": "ni,w->nwi"}], ["r", "fold", ["q"], {"how": "mean", "axis": 0}], ["o", "add", ["s", "r"]]`, `node "q": 5000 columns become 15000 by a matrix`},
	} {
		text := `{"capgnn_model": 1, "features": 6, "outputs": 3, "graphs": {"g": {}}, "tensors": {"W": [3, 6], "V": [3, 3], "b": [3], "c": [3], "wide": [5000]}, "nodes": [
			["x", "input"], ` + c.nodes + `], "logits": "o", "line": {"o": "net.py:31"}}`
		p, err := model.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		_, err = NewModel(p)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.HasPrefix(c.want, `node "o"`) && !strings.HasSuffix(err.Error(), "  (net.py:31)") {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
