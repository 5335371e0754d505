package gnn

import (
	"fmt"

	"capgnn/model"
)

// known is what products there are.
const known = `product is known as "na,ab->nb" of rows and a matrix, and over all vertices as "na,nb->ab": write it so`

// refused is a program that no operations are known for.
type refused struct{ error }

// refuse says why nothing is known for value i, unless ok: the reason, or what the value itself shows.
func (f *fusion) refuse(i int, ok bool, why ...string) {
	if ok {
		return
	}
	if why == nil {
		why = []string{f.cause(i)}
	}
	n := &f.Nodes[i]
	panic(refused{fmt.Errorf("node %q: %s%s", n.Name, why[0], where(n))})
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
	case n.Op == model.BatchNorm && len(n.In) < 5:
		return "batch_norm has no running statistics, with which evaluation is done: give it γ, β, mean and variance"
	case n.Op == model.Const && n.Space == model.Vertices:
		return fmt.Sprintf("the constant %s is read where rows are: capgnn divides sums by in_count, and has no other use for it", n.What)
	case n.Op == model.Param:
		return "a tensor is added as a bias only, one to a sum, and where no coefficient but 1 is: " +
			"drop the coefficients"
	case n.Op == model.Fold, n.Op == model.Reshape:
		return fmt.Sprintf("%s of rows is trained as a part of attention alone, behind which a bias is added: "+
			"write it as `capgnn model show gat` or gatv2 does", n.Op)
	case n.Space != model.Vertices || len(n.Shape) != 1:
		return fmt.Sprintf("%s is %s%v, and is read where rows of vertices with one axis are: read such rows",
			n.Op, n.Space, n.Shape)
	case n.Op == model.LayerNorm && len(n.In) == 1:
		return "layer_norm has no γ and β: give it both"
	case n.Op == model.MaxIn:
		return "max_in is not trained: use sum_in, a mean or attention"
	case n.Op == model.SumIn:
		return "sum_in is known of src, or of the constant edge_weight, sym or gcn_norm times src: read one of these"
	case n.Op == model.Product:
		return known
	case n.Op == model.Concat:
		return "concat is known where one linear alone reads it: let that be so"
	case n.Op == model.Add:
		return f.causeOfAdd(n)
	}
	return fmt.Sprintf("%s is not trained in this place: `capgnn model show` writes models that are", n.Op)
}

func (f *fusion) causeOfAdd(n *model.Node) string {
	biases := 0
	for k, x := range n.In {
		switch {
		case f.op(x) == model.Param && n.Coef[k] != 1:
			return fmt.Sprintf("the bias %q has the coefficient %g: drop it", f.Nodes[x].Name, n.Coef[k])
		case f.op(x) == model.Param:
			biases++
		}
	}
	if biases > 0 {
		return "a bias is added to a sum that is multiplied or has one: leave one bias, without a coefficient"
	}
	return "c₀·(sum over neighbours) + c₁·x is known of rows of one width that no other node reads: " +
		"let a linear read them"
}
