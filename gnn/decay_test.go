package gnn

import (
	"math/rand/v2"
	"strings"
	"testing"

	"capgnn/internal/named"
)

// In any model, each element of each tensor has the decay of the last name that fits, and ranges are all of Flat.
func TestDecayRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 300 {
		cfg := named.Model{Kind: named.Kinds[r.IntN(len(named.Kinds))], Layers: 1 + r.IntN(12), Hidden: 4 * (1 + r.IntN(5)), In: 1 + r.IntN(9), Out: 1 + r.IntN(9), Heads: 2, NoNorm: r.IntN(2) == 0}
		cfg.Jumping = cfg.Kind.Norms() && r.IntN(2) == 0
		w := NewWeights(netOf(cfg))
		var named []NamedDecay
		want := map[string]float64{}
		for range r.IntN(4) {
			parts := strings.Split(w.Tensors[r.IntN(len(w.Tensors))].Name, ".")
			lo := r.IntN(len(parts))
			group := parts[lo : lo+1+r.IntN(len(parts)-lo)]
			d := NamedDecay{strings.Join(group, "."), float64(1 + r.IntN(3))}
			named = append(named, d)
			for _, x := range w.Tensors {
				if x.Name == d.Of || w.Tensor(d.Of) == nil && has(strings.Split(x.Name, "."), group) {
					want[x.Name] = d.Decay
				}
			}
		}
		ranges, err := netOf(cfg).DecayRanges(0, named)
		if err != nil {
			t.Fatalf("%+v, %v: %v", cfg, named, err)
		}
		decays := make([]float64, len(w.Flat))
		for i, d := range ranges {
			if d.Lo >= d.Hi || i == 0 && d.Lo != 0 || i > 0 && (d.Lo != ranges[i-1].Hi || d.Decay == ranges[i-1].Decay) || i == len(ranges)-1 && d.Hi != len(w.Flat) {
				t.Fatalf("%+v, %v: ranges %v of %d elements", cfg, named, ranges, len(w.Flat))
			}
			for k := d.Lo; k < d.Hi; k++ {
				decays[k] = d.Decay
			}
		}
		for _, x := range w.Tensors {
			for k := range x.Data {
				if decays[x.Off+k] != want[x.Name] {
					t.Fatalf("%+v, %v: element %d of %s has %v, want %v", cfg, named, k, x.Name, decays[x.Off+k], want[x.Name])
				}
			}
		}
		for o := (Optimizer{Decays: ranges}); ; {
			lo := r.IntN(len(w.Flat))
			all := Range{lo, lo + r.IntN(len(w.Flat)-lo+1)}
			at := all.Lo
			for x, decay := range o.DecaysOf(all) {
				if x.Lo != at || x.Hi <= at {
					t.Fatalf("%v of %v begins with %v behind element %d", all, ranges, x, at)
				}
				for ; at < x.Hi; at++ {
					if decays[at] != decay {
						t.Fatalf("%v of %v: element %d has %v, want %v", all, ranges, at, decay, decays[at])
					}
				}
			}
			if at != all.Hi {
				t.Fatalf("%v of %v ends with element %d", all, ranges, at)
			}
			if all.Lo == all.Hi {
				break
			}
		}
	}
}

// has reports whether parts of a name follow each other in it.
func has(name, group []string) bool {
	for lo := 0; lo+len(group) <= len(name); lo++ {
		same := true
		for i := range group {
			same = same && name[lo+i] == group[i]
		}
		if same {
			return true
		}
	}
	return false
}

// Parts of a component, as of a number, fit no name; every name that fits none is reported. A whole name is of its tensor alone.
func TestNamesOfDecays(t *testing.T) {
	cfg := named.Model{Kind: named.GCNII, Layers: 11, Hidden: 4, In: 3, Out: 2}
	for _, name := range []string{"lin", "conv", "convs.11", "convs.1.weight", "ins.0", "0.1", "lins.2", "Lins", "convs..0"} {
		_, err := netOf(cfg).DecayRanges(0, []NamedDecay{{"bias", 1}, {name, 1}, {"x", 1}})
		if err == nil || !strings.Contains(err.Error(), `"`+name+`"`) || !strings.Contains(err.Error(), `"x"`) || !strings.Contains(err.Error(), "parts are lins, lins.0 to lins.1, weight, bias, convs, convs.0 to convs.10, weight1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	one, err := netOf(cfg).DecayRanges(2, []NamedDecay{{"convs.1", 1}})
	if err != nil || len(one) != 3 || one[1].Hi-one[1].Lo != 16 {
		t.Errorf("the weight of convs.1, 4 × 4: %v, %v", one, err)
	}
	cfg = named.Model{Kind: named.GCN, Layers: 2, Hidden: 4, In: 3, Out: 2, Jumping: true}
	whole, err := netOf(cfg).DecayRanges(0, []NamedDecay{{"lin.weight", 1}})
	if at := NewWeights(netOf(cfg)).Tensor("lin.weight").Off; err != nil || len(whole) != 3 || whole[1].Lo != at || whole[1].Hi != at+16 {
		t.Errorf("lin.weight, 2 × 8, alone: %v, %v", whole, err)
	}
}

// Decays of another model are refused, and such as leave weights out.
func TestDecaysFitTheModel(t *testing.T) {
	cfg := named.Model{Kind: named.GCN, Layers: 2, Hidden: 16, In: 30, Out: 3}
	o := Optimizer{Kind: SGD, LR: 1}
	if err := o.Fits(netOf(cfg)); err != nil {
		t.Fatal(err)
	}
	o.Decays, _ = netOf(cfg).DecayRanges(0, []NamedDecay{{"bias", 1}})
	if err := o.Fits(netOf(cfg)); err != nil {
		t.Error(err)
	}
	narrow := cfg
	narrow.In = 1
	for name, decays := range map[string][]DecayRange{"none": {}, "a gap": {o.Decays[0], o.Decays[2]}, "twice": {o.Decays[0], o.Decays[0]}, "empty": {{Range{0, 0}, 1}, o.Decays[0]}, "the end is missing": o.Decays[:2], "negative": {{Range{0, int(FlatLen(netOf(cfg)))}, -1}}} {
		if err := (Optimizer{Kind: SGD, LR: 1, Decays: decays}).Fits(netOf(cfg)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := o.Fits(netOf(narrow)); err == nil {
		t.Error("decays of a model with more features: accepted")
	}
}
