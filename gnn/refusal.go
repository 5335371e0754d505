package gnn

import (
	"fmt"
	"strings"

	"capgnn/model"
)

// known is what products there are.
const known = `product is known as "na,ab->nb" of rows and a matrix, and over all vertices as "na,nb->ab": write it so`

// refused is a program that no operations are known for.
type refused struct{ error }

// caught returns why a program was refused, if it was.
func caught(r any) error {
	switch r := r.(type) {
	case nil:
		return nil
	case refused:
		return r.error
	default:
		panic(r)
	}
}

// refuse says why nothing is known for value i, unless ok: the reason, or what the value itself shows.
func (f *fusion) refuse(i int, ok bool, why ...string) {
	if ok {
		return
	}
	if why == nil {
		why = []string{f.cause(i)}
	}
	n := &f.Nodes[i]
	name, _, _ := strings.Cut(n.Name, "\x00")
	panic(refused{fmt.Errorf("node %q: %s%s", name, why[0], where(n))})
}

func where(n *model.Node) string {
	if n.Line == "" {
		return ""
	}
	return "  (" + n.Line + ")"
}

// cause returns why devices have nothing for value i, and what they have.
func (f *fusion) cause(i int) string {
	n := &f.Nodes[i]
	switch {
	case n.Op == model.Const && n.Space == model.Vertices:
		return fmt.Sprintf("the constant %s is read where rows are: capgnn divides sums by in_count, and has no other use for it", n.What)
	case n.Space != model.Vertices:
		return fmt.Sprintf("%s is %s%v, and is read where rows of vertices are: read such rows", n.Op, n.Space, n.Shape)
	case n.Op == model.MaxIn:
		return "max_in is known of src, of rows with one axis: read that"
	case n.Op == model.SumIn:
		return "sum_in is known of products of src, dst, one function of a dst + a src, and a constant made of degrees and weights of edges, all " +
			"of as many columns, and of src by head times softmax_in of the sums of dst × src by head: read such a product"
	case n.Op == model.Product:
		return known
	case n.Op == model.Add:
		return "c₀·(sum over neighbours) + c₁·x is known of rows of one width that no other node reads: " +
			"let a linear read them"
	}
	return fmt.Sprintf("%s is not trained in this place: `capgnn model show` writes models that are", n.Op)
}
