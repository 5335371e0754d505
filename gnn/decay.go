package gnn

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// NamedDecay is a weight decay for some tensors.
type NamedDecay struct {
	// Of is a component of their names, or several that follow each other, as in "lins", "convs.0" or "bias".
	Of    string
	Decay float64 // ≥ 0
}

// names reports whether a tensor of this name is one of them.
func (d NamedDecay) names(tensor string) bool {
	return strings.Contains("."+tensor+".", "."+d.Of+".")
}

// DecayRange is the weight decay of some elements of Weights.Flat.
type DecayRange struct {
	Range
	Decay float64 // ≥ 0
}

// DecayRanges returns the weight decay of every element of a model's weights: that of the last of named which names its tensor, and rest where none does.
// Ranges ascend, have what lies behind a tensor as padding, and together are all of Weights.Flat. A name that no tensor has is an error, which lists those that it could be.
//
// Source: torch.optim's groups of parameters; the code of GCNII (Chen et al., ICML 2020) has one for convolutions and one for its Linear layers.
func (c Config) DecayRanges(rest float64, named []NamedDecay) ([]DecayRange, error) {
	tensors := layout(c)
	for _, d := range named {
		if !slices.ContainsFunc(tensors, func(t Tensor) bool { return d.names(t.Name) }) {
			return nil, fmt.Errorf("no weights of %s have %q in their name: it could be %s", c.Kind, d.Of, strings.Join(components(tensors), ", "))
		}
	}
	var out []DecayRange
	at := 0
	for _, t := range tensors {
		decay := rest
		for _, d := range named {
			if d.names(t.Name) {
				decay = d.Decay
			}
		}
		end := at + int(padded(product(t.Shape)))
		if n := len(out); n > 0 && out[n-1].Decay == decay {
			out[n-1].Hi = end
		} else {
			out = append(out, DecayRange{Range{at, end}, decay})
		}
		at = end
	}
	return out, nil
}

// components lists the components of tensors' names, each once, without numbers.
func components(tensors []Tensor) (names []string) {
	for _, t := range tensors {
		for part := range strings.SplitSeq(t.Name, ".") {
			if strings.Trim(part, "0123456789") != "" && !slices.Contains(names, part) {
				names = append(names, part)
			}
		}
	}
	return names
}

// DecaysOf yields r in pieces of one weight decay each, ascending.
func (o Optimizer) DecaysOf(r Range) iter.Seq2[Range, float64] {
	return func(yield func(Range, float64) bool) {
		if o.Decays == nil {
			yield(r, o.WeightDecay)
			return
		}
		first, _ := slices.BinarySearchFunc(o.Decays, r.Lo+1, func(d DecayRange, at int) int { return cmp.Compare(d.Hi, at) })
		for _, d := range o.Decays[first:] {
			piece := Range{max(r.Lo, d.Lo), min(r.Hi, d.Hi)}
			if piece.Lo >= piece.Hi || !yield(piece, d.Decay) {
				return
			}
		}
	}
}
