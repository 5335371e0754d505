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
		{sum + `["k", "linear", ["x", "W"]], ["o", "add", ["s", "k", "b"], {"coef": [1, 1, 2]}]`, `node "o": the bias "b" has the coefficient 2: drop it`},
		{sum + `["k", "linear", ["x", "W"]], ["o", "add", ["s", "k", "b", "c"]]`, `node "o": a bias is added to a sum that is multiplied or has one: leave one bias`},
		{sum + `["o", "layer_norm", ["s"]]`, `node "o": layer_norm has no γ and β: give it both`},
		{sum + `["v", "tanh", ["V"]], ["o", "linear", ["s", "v"]]`, `node "v": tanh is read in place of a tensor: read the tensor itself`},
		{`["l", "linear", ["x", "W"]], ["e", "src", ["l"], {"graph": "g"}], ["o", "max_in", ["e"], {"graph": "g"}]`, `node "o": max_in is not trained: use sum_in, a mean or attention`},
		{`["l", "linear", ["x", "W"]], ["e", "dst", ["l"], {"graph": "g"}], ["o", "sum_in", ["e"], {"graph": "g"}]`, `node "o": sum_in is known of src, or of the constant edge_weight, sym or gcn_norm times src`},
		{sum + `["d", "const", [], {"what": "in_degree", "graph": "g"}], ["o", "mul", ["s", "d"]]`, `node "d": the constant in_degree is read where rows are`},
		{sum + `["q", "product", ["V", "b"], {"spec": "ij,j->i"}], ["o", "mul", ["s", "q"]]`, `node "q": product of tensors is not trained: use sums, products and functions`},
		{sum + `["q", "product", ["s", "s"], {"spec": "ni,nj->ji"}], ["o", "product", ["s", "q"], {"spec": "na,ab->nb"}]`, `node "q": product is known as "na,ab->nb" of rows and a matrix, and over all vertices as`},
		{sum + `["q", "product", ["s", "s"], {"spec": "ni,nj->ij"}], ["k", "mul", ["q", "b"]], ["o", "product", ["s", "k"], {"spec": "na,ab->nb"}]`, `node "k": mul of tensors of different sizes: give them one`},
		{sum + `["q", "product", ["s", "s"], {"spec": "ni,nj->ij"}], ["k", "product", ["s", "q"], {"spec": "na,ba->nb"}], ["o", "add", ["s", "k"]]`, `node "k": product is known as "na,ab->nb" of rows and a matrix`},
		{sum + `["q", "add", ["b", "one"]], ["o", "mul", ["s", "q"]]`, `node "one": tensors of different sizes are added: give them one`},
		{sum + `["n", "layer_norm", ["l"]], ["o", "gelu", ["n"]]`, `node "n": layer_norm has no γ and β: give it both`},
		{sum + `["r", "reshape", ["s"], {"shape": [3, 1]}], ["t", "tanh", ["r"]], ["o", "reshape", ["t"], {"shape": [3]}]`, `node "o": reshape of rows is trained as a part of attention alone, behind which a bias is added`},
	} {
		text := `{"capgnn_model": 1, "features": 6, "outputs": 3, "graphs": {"g": {}}, "tensors": {"W": [3, 6], "V": [3, 3], "b": [3], "c": [3], "one": [1]}, "nodes": [
			["x", "input"], ` + c.nodes + `], "logits": "o", "line": {"o": "net.py:31"}}`
		p, err := model.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		_, err = NewCustom(p)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.HasPrefix(c.want, `node "o"`) && !strings.HasSuffix(err.Error(), "  (net.py:31)") {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
