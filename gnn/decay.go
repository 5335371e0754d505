package gnn

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// NamedDecay is a weight decay for some tensors.
type NamedDecay struct {
	// Of is a component of their names, or several that follow each other, as in "lins", "convs.0" or "bias". A whole name stands for its tensor alone.
	Of    string
	Decay float64 // ≥ 0
}

// in returns which tensors these are.
func (d NamedDecay) in(tensors []Tensor) (fits func(name string) bool, some bool) {
	fits = func(name string) bool { return strings.Contains("."+name+".", "."+d.Of+".") }
	for _, t := range tensors {
		if t.Name == d.Of {
			return func(name string) bool { return name == d.Of }, true
		}
		some = some || fits(t.Name)
	}
	return fits, some
}

// DecayRange is the weight decay of some elements of Weights.Flat.
type DecayRange struct {
	Range
	Decay float64 // ≥ 0
}

// DecayRanges returns the weight decay of every element of a model's weights: that of the last of named which names its tensor, and rest where none does. Running statistics have none.
// Ranges ascend, have what lies behind a tensor as padding, and together are all of Weights.Flat. The error names every one of named that fits no tensor.
//
// Source: torch.optim's groups of parameters; the code of GCNII (Chen et al., ICML 2020) has one for convolutions and one for its Linear layers.
func (c Config) DecayRanges(rest float64, named []NamedDecay) ([]DecayRange, error) {
	tensors := layout(c)
	fits, errs := make([]func(name string) bool, len(named)), []error(nil)
	for i, d := range named {
		some := false
		if fits[i], some = d.in(tensors); !some {
			errs = append(errs, fmt.Errorf("no weight of the model has the part %q in its name: parts are %s", d.Of, nameParts(tensors)))
		}
	}
	var out []DecayRange
	at := 0
	for _, t := range tensors {
		decay := rest
		for i, d := range named {
			if fits[i](t.Name) {
				decay = d.Decay
			}
		}
		if c.runs(t.Name) {
			decay = 0
		}
		end := at + int(padded(product(t.Shape)))
		if n := len(out); n > 0 && out[n-1].Decay == decay {
			out[n-1].Hi = end
		} else {
			out = append(out, DecayRange{Range{at, end}, decay})
		}
		at = end
	}
	return out, errors.Join(errs...)
}

// Sparing returns an update rule that takes nothing off what has no gradient: running statistics and tensors behind
// stops.
func (o Optimizer) Sparing(c Config) Optimizer {
	if o.Decays == nil && len(c.running) > 0 {
		o.Decays, _ = c.DecayRanges(o.WeightDecay, nil) // no name can be wrong
	}
	return o
}

// nameParts lists the components of tensors' names, each once; behind one that numbers follow, the last number.
func nameParts(tensors []Tensor) string {
	var names []string
	last := map[string]int{}
	for _, t := range tensors {
		before := ""
		for part := range strings.SplitSeq(t.Name, ".") {
			if n, err := strconv.Atoi(part); err == nil {
				last[before] = max(last[before], n)
				continue
			}
			if before = part; !slices.Contains(names, part) {
				names = append(names, part)
			}
		}
	}
	for i, name := range names {
		if n, numbered := last[name]; numbered {
			names[i] = fmt.Sprintf("%s, %s.0", name, name)
			if n > 0 {
				names[i] += fmt.Sprintf(" to %s.%d", name, n)
			}
		}
	}
	return strings.Join(names, ", ")
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

// Fits reports everything that is wrong with o as the update rule of a model, which is valid.
func (o Optimizer) Fits(c Config) error {
	err, at := o.Validate(), 0
	if o.Decays == nil {
		return err
	}
	for _, d := range o.Decays {
		if d.Lo != at || d.Hi <= d.Lo {
			return errors.Join(err, fmt.Errorf("weight decays of elements %d to %d follow those up to %d", d.Lo, d.Hi, at))
		}
		at = d.Hi
	}
	if n := FlatLen(c); int64(at) != n {
		return errors.Join(err, fmt.Errorf("weight decays of %d elements for weights of %d: take those of Config.DecayRanges for this model", at, n))
	}
	return err
}
