package rapa

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// near reports whether x is y to rounding.
func near(x, y float64) bool { return math.Abs(x-y) <= 1e-12*max(1, math.Abs(y)) }

// TestLambda works Eq. 13–15 out by hand.
//
// Two devices: MM 1 and 2 s, SpMM 3 and 4 s, H2D 5 and 10 s, D2H 8 and 4 s, IDT 1 and 2 s; maxima 2, 4, 10, 8, 2; P = 2; α = 0.25.
//
//	T_comm(0) = |E_outer|·[(5/10 + 8/8)·(1 - 1/2) + (1/2)·(1/2)] = |E_outer|·(0.75 + 0.25) = 1·|E_outer|
//	T_comm(1) = |E_outer|·[(10/10 + 4/8)·(1/2) + (2/2)·(1/2)]    = |E_outer|·(0.75 + 0.5)  = 1.25·|E_outer|
//	T_comp(0) = 0.25·|E|·3/4 + 0.75·|I|·1/2 = 0.1875·|E| + 0.375·|I|
//	T_comp(1) = 0.25·|E| + 0.75·|I|
//
// With |I| = 10, |E| = 32, |E_outer| = 6: λ_0 = 3.75 + 6 + 6 = 15.75, λ_1 = 7.5 + 8 + 7.5 = 23.
func TestLambda(t *testing.T) {
	costs, err := Lambda([]Rate{
		{MM: 1, SpMM: 3, H2D: 5, D2H: 8, IDT: 1},
		{MM: 2, SpMM: 4, H2D: 10, D2H: 4, IDT: 2},
	}, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	n := Counts{Inner: 10, Edges: 32, Outer: 6, Halo: 5, Sent: 4}
	for i, want := range []float64{15.75, 23} {
		if got := costs[i].Of(n); !near(got, want) {
			t.Errorf("λ_%d is %g, want %g", i, got, want)
		}
	}
	if a, b := costs[0].weakness(), costs[1].weakness(); !near(a, 0.1875+0.375) || !near(b, 1) {
		t.Errorf("weakness is %g and %g, want 0.5625 and 1", a, b)
	}
}

// TestLambdaClass: the mean of a class stands for its members. SpMM 1 and 3 make 2 for both, the largest of all.
func TestLambdaClass(t *testing.T) {
	costs, err := Lambda([]Rate{
		{Class: "a", MM: 1, SpMM: 1, H2D: 1, D2H: 1, IDT: 1},
		{Class: "a", MM: 1, SpMM: 3, H2D: 1, D2H: 1, IDT: 1},
		{MM: 1, SpMM: 1, H2D: 1, D2H: 1, IDT: 1},
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	// P = 3: PerOuter = 2·(2/3) + 1/3 = 5/3
	for i, want := range []float64{1, 1, 0.5} {
		if !near(costs[i].PerEdge, want) || costs[i].PerInner != 0 || !near(costs[i].PerOuter, 5./3) {
			t.Errorf("device %d costs %+v, want %g per edge", i, costs[i], want)
		}
	}
}

func TestLambdaErrors(t *testing.T) {
	good := Rate{MM: 1, SpMM: 1, H2D: 1, D2H: 1, IDT: 1}
	change := func(f func(*Rate)) []Rate {
		r := good
		f(&r)
		return []Rate{good, r}
	}
	for name, tc := range map[string]struct {
		rates []Rate
		alpha float64
	}{
		"none":    {nil, 0.5},
		"alpha":   {[]Rate{good}, math.NaN()},
		"no mm":   {change(func(r *Rate) { r.MM = 0 }), 0.5},
		"no h2d":  {change(func(r *Rate) { r.H2D = 0 }), 0.5},
		"inf d2h": {change(func(r *Rate) { r.D2H = math.Inf(1) }), 0.5},
		"nan idt": {change(func(r *Rate) { r.IDT = math.NaN() }), 0.5},
	} {
		if costs, err := Lambda(tc.rates, tc.alpha); err == nil {
			t.Errorf("%s: accepted as %v", name, costs)
		}
	}
}

func TestPartCost(t *testing.T) {
	c := PartCost{Fixed: 1, PerInner: 2, PerEdge: 3, PerOuter: 5, PerHalo: 7, PerSent: 11}
	if got := c.Of(Counts{Inner: 1, Edges: 10, Outer: 100, Halo: 1000, Sent: 10000}); got != 1+2+30+500+7000+110000 {
		t.Errorf("cost is %g", got)
	}
	for name, c := range map[string]PartCost{"nan": {PerEdge: math.NaN()}, "negative": {PerEdge: 1, PerHalo: -1}, "free": {Fixed: 1}} {
		if c.validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestMemoryCheck: 100 + 10·4 + 3·20 + 2·7 = 214 bytes against 200, so 14 more, or ⌈14/3⌉ = 5 halo rows less.
func TestMemoryCheck(t *testing.T) {
	n := Counts{Inner: 4, Halo: 20, Edges: 7, Outer: 7}
	m := Memory{Footprint{Fixed: 100, PerInner: 10, PerHalo: 3, PerEdge: 2}, []int64{200, 214, 0, 100}}
	err := m.Check([]Counts{n, n, n, n})
	var e *InfeasibleError
	if !errors.As(err, &e) || len(e.Short) != 2 {
		t.Fatalf("error is %v", err)
	}
	want := []Shortage{{Part: 0, NeedBytes: 214, HaveBytes: 200, HaloRows: 5}, {Part: 3, NeedBytes: 214, HaveBytes: 100, HaloRows: -1}}
	for i, s := range e.Short {
		if s != want[i] {
			t.Errorf("shortage %+v, want %+v", s, want[i])
		}
	}
	if e.MoreBytes() != 14+114 || e.NeedBytes != 3*214 || e.HaveBytes != 514 {
		t.Errorf("sums are %+v", e)
	}
	for _, text := range []string{"part 0 needs 214 bytes and its device has 200", "pruning 5 halo rows", "part 3", "128 bytes"} {
		if !strings.Contains(e.Error(), text) {
			t.Errorf("%q does not say %q", e, text)
		}
	}
	if err := (Memory{}).Check([]Counts{n}); err != nil {
		t.Errorf("no limits: %v", err)
	}
}

// TestTraceIsBounded: a long trace keeps its beginning and its end.
func TestTraceIsBounded(t *testing.T) {
	var trace []Iteration
	const parts = 1 << 10
	for k := range 500 {
		trace = record(trace, Iteration{Parts: make([]PartState, parts), Max: float64(k)})
	}
	if n := len(trace); n*parts > maxTrace || n < 10 || trace[0].Max != 0 || trace[n-1].Max != 499 {
		t.Errorf("%d iterations, the last is %g", n, trace[n-1].Max)
	}
}
