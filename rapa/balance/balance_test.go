package balance

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capgnn/rapa"
)

// TestFitDevices: parts cost the same on devices that are equal, of which one is slower, has a high fixed cost, or has less
// memory than its share.
func TestFitDevices(t *testing.T) {
	const n = 2400
	fast := device{inner: 1, edge: 0.2}
	work := func(n rapa.Counts) float64 { return fast.load(n) }
	for name, tc := range map[string]struct {
		devices []device
		share   []float64 // of the work, by part
	}{
		"equal":                {[]device{fast, fast, fast}, []float64{1. / 3, 1. / 3, 1. / 3}},
		"one slow":             {[]device{fast, {inner: 3, edge: 0.6}, fast}, []float64{3. / 7, 1. / 7, 3. / 7}},
		"one with a high cost": {[]device{fast, fast, {fixed: 1.5 * n, inner: 1, edge: 0.2}}, []float64{0.5, 0.5, 0}},
		"one of little memory": {[]device{fast, fast, {inner: 1, edge: 0.2, memory: bytesPerInner * n / 10}}, []float64{0.45, 0.45, 0.1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := problem(t, n, len(tc.devices), 1)
			e := &table{graph: p.Graph, devices: tc.devices}
			plan, err := Fit(t.Context(), p, e, all(p))
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, p, e, plan)
			counts, err := rapa.Count(p.Graph, plan.Part, len(tc.devices))
			if err != nil {
				t.Fatal(err)
			}
			whole := work(rapa.Counts{Inner: n, Edges: p.Graph.In.Edges()})
			for i, s := range counts {
				if share := work(s) / whole; math.Abs(share-tc.share[i]) > 0.015 {
					t.Errorf("part %d has %.3f of the work, want %.3f", i, share, tc.share[i])
				}
				if m := tc.devices[i].memory; m > 0 && bytesPerInner*s.Inner > m {
					t.Errorf("part %d takes %d bytes of %d", i, bytesPerInner*s.Inner, m)
				}
			}
		})
	}
}

// checkPlan checks what holds of every plan that Fit returns for p without loss.
func checkPlan(t *testing.T, p Problem, e *table, plan *rapa.Plan) {
	t.Helper()
	if e.calls > MaxEstimates {
		t.Errorf("%d estimates, at most %d may be", e.calls, MaxEstimates)
	}
	counts, err := rapa.Count(p.Graph, plan.Part, len(e.devices))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range plan.Parts {
		if s.Inner != counts[i].Inner || s.Edges != counts[i].Edges || s.Halo != counts[i].Halo || s.Inner < 1 {
			t.Errorf("part %d: %+v, counted %+v", i, s, counts[i])
		}
	}
	judge := func(part []int32) candidate {
		x, err := (&table{graph: p.Graph, devices: e.devices, load: e.load}).Estimate(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		return newCandidate(&x, part)
	}
	if before, after := judge(p.Plan.Part), judge(plan.Part); after.compare(before) > 0 {
		t.Errorf("price %g, lack %d; it began with price %g, lack %d", after.price(), after.lack, before.price(), before.lack)
	}
}

// TestFitConvex: on random convex costs of three to five devices the largest load is within 2 % of the best split of the vertices,
// from which the equal parts that Fit begins with are more than 20 % away; each way of changing parts must do it alone too.
func TestFitConvex(t *testing.T) {
	const n, factor = 2000, 1.02
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 7))
		p := problem(t, n, 3+int(seed)%3, seed)
		e := &table{graph: p.Graph}
		for i := range len(p.Plan.Parts) {
			speed := math.Exp2(2 * r.Float64())
			if i == 0 {
				speed *= 3
			}
			e.devices = append(e.devices, device{fixed: 200 * r.Float64(), inner: speed, square: speed * r.Float64() / n})
		}
		best := bestSplit(e.devices, n)
		if start := e.largest(t, p.Plan.Part) / best; start < 1.2 {
			t.Errorf("seed %d: equal parts are within %.3f of the best: nothing is tested", seed, start)
		}
		for name, opt := range map[string]Options{"all": all(p), "cuts": {Cut: all(p).Cut, ByWork: true}, "moves": {Move: true}} {
			e.calls = 0
			plan, err := Fit(t.Context(), p, e, opt)
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, p, e, plan)
			got := e.largest(t, plan.Part) / best
			t.Logf("seed %d, %s: %.4f of the best split, %d estimates", seed, name, got, e.calls)
			if !(got <= factor) || got < 1-1e-9 {
				t.Errorf("seed %d, %s: the largest load is %.4f of the best split's, want at most %.2f", seed, name, got, factor)
			}
		}
	}
}

// bestSplit returns the least possible largest load of n vertices, at least one on each device, edges costing nothing.
func bestSplit(devices []device, n int64) float64 {
	held := func(bound float64) (sum int64) { // vertices that can be held at loads up to bound, n+1 where none may be
		for _, d := range devices {
			lo, hi := int64(0), n
			for lo < hi {
				if mid := (lo + hi + 1) / 2; d.load(rapa.Counts{Inner: mid}) <= bound {
					lo = mid
				} else {
					hi = mid - 1
				}
			}
			if lo == 0 {
				return 0
			}
			sum += lo
		}
		return sum
	}
	lo, hi := 0.0, 1e9
	for range 200 {
		if mid := (lo + hi) / 2; held(mid) >= n {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// TestFitNotMonotone: costs that fall as a part grows, or that follow no rule, cannot be balanced; Fit ends, repeats itself and
// makes nothing worse.
func TestFitNotMonotone(t *testing.T) {
	for name, load := range map[string]func(int, rapa.Counts) float64{
		"sawtooth": func(i int, n rapa.Counts) float64 { return 1 + float64(n.Inner%97) + float64(i) },
		"falling":  func(i int, n rapa.Counts) float64 { return 1e4 / float64(n.Inner+int64(i)) },
		"random": func(i int, n rapa.Counts) float64 {
			return rand.New(rand.NewPCG(uint64(i), uint64(n.Edges))).Float64()
		},
		"nothing": func(int, rapa.Counts) float64 { return 0 },
	} {
		t.Run(name, func(t *testing.T) {
			p := problem(t, 600, 3, 2)
			part := slices.Clone(p.Plan.Part)
			var plans []*rapa.Plan
			for range 2 {
				e := &table{graph: p.Graph, devices: make([]device, 3), load: load}
				opt, cuts := all(p), 0
				cut := opt.Cut
				opt.Cut = func(ctx context.Context, o rapa.Options) (*rapa.Plan, error) {
					if cuts++; o.MaxEffort != recutEffort {
						t.Errorf("a cut of up to %d attempts, want %d", o.MaxEffort, recutEffort)
					}
					return cut(ctx, o)
				}
				plan, err := Fit(t.Context(), p, e, opt)
				if name == "nothing" {
					if err == nil || !strings.Contains(err.Error(), "costs anything") {
						t.Errorf("error %v: want that nothing costs anything", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				checkPlan(t, p, e, plan)
				if cuts != Recuts {
					t.Errorf("cut %d times more, want %d", cuts, Recuts)
				}
				plan.Seconds = 0
				plans = append(plans, plan)
			}
			if !reflect.DeepEqual(plans[0], plans[1]) {
				t.Error("the second time gives another plan")
			}
			if !slices.Equal(part, p.Plan.Part) {
				t.Error("the given plan changed")
			}
		})
	}
}

// TestMoveMemory: where the graph is not cut anew, vertices leave the part that does not fit its device, whatever that costs.
func TestMoveMemory(t *testing.T) {
	p := problem(t, 900, 3, 1)
	e := &table{graph: p.Graph, devices: []device{{inner: 1}, {inner: 1}, {inner: 0.5, memory: bytesPerInner * 100}}}
	plan, err := Fit(t.Context(), p, e, Options{Move: true})
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, p, e, plan)
	if n := plan.Parts[2].Inner; n > 100 || n < 90 {
		t.Errorf("the device with room for 100 vertices has %d", n)
	}
}

// TestFitNoMemory: a device that cannot hold one vertex fits nothing, whatever the others have.
func TestFitNoMemory(t *testing.T) {
	p := problem(t, 300, 3, 1)
	e := &table{graph: p.Graph, devices: []device{{inner: 1}, {inner: 1, memory: 1}, {inner: 1}}}
	var infeasible *rapa.InfeasibleError
	if _, err := Fit(t.Context(), p, e, all(p)); !errors.As(err, &infeasible) || infeasible.MoreBytes() < 1 {
		t.Errorf("error %v: want a *rapa.InfeasibleError", err)
	}
}

// TestFitEnds: an error of the estimator ends Fit at whichever call it comes, and so does a context that is cancelled.
func TestFitEnds(t *testing.T) {
	p := problem(t, 900, 3, 3)
	devices := []device{{inner: 1, square: 1e-3}, {inner: 3, edge: 0.5}, {inner: 1, fixed: 100}}
	opt := all(p)
	opt.MaxPrune = 0.1
	e := &table{graph: p.Graph, devices: devices}
	if _, err := Fit(t.Context(), p, e, opt); err != nil || e.calls < 6 {
		t.Fatalf("%d estimates, error %v", e.calls, err)
	}
	for at := 1; at <= e.calls; at++ {
		torn := &table{graph: p.Graph, devices: devices, at: at, hook: func() error { return errTable }}
		if plan, err := Fit(t.Context(), p, torn, opt); !errors.Is(err, errTable) || plan != nil || torn.calls != at {
			t.Errorf("error at estimate %d: %v after %d estimates", at, err, torn.calls)
		}
		ctx, cancel := context.WithCancel(t.Context())
		late := &table{graph: p.Graph, devices: devices, at: at, hook: func() error { cancel(); return nil }}
		if plan, err := Fit(ctx, p, late, opt); !errors.Is(err, context.Canceled) || plan != nil || late.calls > at+1 {
			t.Errorf("cancelled at estimate %d: %v after %d estimates", at, err, late.calls)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fit(ctx, p, &table{graph: p.Graph, devices: devices}, opt); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
}

// TestFitCut: a cut that fits no devices ends the recuts and vertices still move; another error of it is Fit's.
func TestFitCut(t *testing.T) {
	p := problem(t, 900, 3, 1)
	e := &table{graph: p.Graph, devices: []device{{inner: 1}, {inner: 3}, {inner: 1}}}
	opt := all(p)
	opt.Cut = func(context.Context, rapa.Options) (*rapa.Plan, error) {
		return nil, &rapa.InfeasibleError{NeedBytes: 1}
	}
	plan, err := Fit(t.Context(), p, e, opt)
	if err != nil || plan.Moved == 0 {
		t.Fatalf("plan %+v, error %v: want one whose vertices have moved", plan, err)
	}
	checkPlan(t, p, e, plan)
	opt.Cut = func(context.Context, rapa.Options) (*rapa.Plan, error) { return nil, errTable }
	if _, err := Fit(t.Context(), p, e, opt); !errors.Is(err, errTable) {
		t.Errorf("error %v, want that of the cut", err)
	}
}

// TestFitAssign: parts of other sizes than the devices want change devices, and no vertex its part.
func TestFitAssign(t *testing.T) {
	p := problem(t, 900, 2, 1)
	for v := range p.Plan.Part {
		p.Plan.Part[v] = int32(min(1, v/225)) // a quarter, three quarters
	}
	e := &table{graph: p.Graph, devices: []device{{inner: 1}, {inner: 3}}}
	plan, err := Fit(t.Context(), p, e, Options{Assign: true})
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, p, e, plan)
	if plan.Parts[0].Inner != 675 || plan.Parts[1].Inner != 225 || plan.Moved != 0 || plan.Stop != rapa.StopBalanced {
		t.Errorf("parts %+v, %d moved, %q", plan.Parts, plan.Moved, plan.Stop)
	}
}

// TestFitLossy: pruning stays within its share of the cut edges, and Trim needs no estimator.
func TestFitLossy(t *testing.T) {
	p := problem(t, 900, 3, 1)
	e := &table{graph: p.Graph, devices: []device{{inner: 1, edge: 1}, {inner: 2, edge: 2}, {inner: 1, edge: 1}}}
	plan, err := Fit(t.Context(), p, e, Options{MaxPrune: 0.2})
	if err != nil || plan.Lost.Edges == 0 || plan.Lost.Share > 0.2 || plan.Dropped == nil || !slices.Equal(plan.Part, p.Plan.Part) {
		t.Errorf("lost %+v, error %v", plan.Lost, err)
	}
	plan, err = Trim(t.Context(), p, Options{Trim: 0.3, MaxPrune: 1, Move: true})
	if err != nil || plan.Lost.Share > 0.3 || plan.Lost.Share < 0.25 || plan.Costs != nil || !slices.Equal(plan.Part, p.Plan.Part) {
		t.Errorf("trimmed %+v, error %v", plan.Lost, err)
	}
}

// TestFitExtremes: one part, as many parts as vertices, and arguments that fit no graph.
func TestFitExtremes(t *testing.T) {
	for _, parts := range []int{1, 20} {
		p := problem(t, 20, parts, 1)
		e := &table{graph: p.Graph}
		for i := range parts {
			e.devices = append(e.devices, device{inner: 1 + float64(i%3)})
		}
		plan, err := Fit(t.Context(), p, e, all(p))
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, p, e, plan)
	}
	p := problem(t, 20, 3, 1)
	for want, plan := range map[string]*rapa.Plan{
		"no parts":                              {Part: p.Plan.Part},
		"21 parts are more than the graph's 20": {Part: p.Plan.Part, Parts: make([]rapa.Stats, 21)},
		"of 3 vertices, the graph has 20":       {Part: make([]int32, 3), Parts: make([]rapa.Stats, 3)},
		"":                                      {Part: p.Plan.Part, Parts: p.Plan.Parts, Targets: p.Plan.Targets},
	} {
		e := &table{graph: p.Graph, devices: make([]device, 3)}
		q := Problem{Graph: p.Graph, Plan: plan, Partition: p.Partition}
		if _, err := Fit(t.Context(), q, e, Options{}); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || e.calls > 0 {
			t.Errorf("error %v after %d estimates, want %q", err, e.calls, want)
		}
	}
}

// TestEstimateIsChecked: an estimate that is of other parts, or no number, is an error and decides nothing.
func TestEstimateIsChecked(t *testing.T) {
	p := problem(t, 60, 3, 1)
	for want, broken := range map[string]func(*Estimate){
		"2 counts":      func(e *Estimate) { e.Counts = e.Counts[:2] },
		"2 loads":       func(e *Estimate) { e.Load = e.Load[:2] },
		"0 costs":       func(e *Estimate) { e.Costs = nil },
		"4 devices":     func(e *Estimate) { e.Memory.Have = make([]int64, 4) },
		"load NaN":      func(e *Estimate) { e.Load[1] = math.NaN() },
		"load -1":       func(e *Estimate) { e.Load[1] = -1 },
		"score +Inf":    func(e *Estimate) { e.Score = math.Inf(1) },
		"lack -5 bytes": func(e *Estimate) { e.Lack = -5 },
	} {
		e := &table{graph: p.Graph, devices: []device{{inner: 1}, {inner: 1}, {inner: 1}}, broken: broken}
		if _, err := Fit(t.Context(), p, e, all(p)); err == nil || !strings.Contains(err.Error(), want) || e.calls != 1 {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestCompare: memory that lacks counts before the score, and loads beyond fairSigma make a partition dearer.
func TestCompare(t *testing.T) {
	for _, tc := range []struct {
		a, b candidate
		want int
	}{
		{candidate{score: 9}, candidate{score: 1, lack: 1}, -1},
		{candidate{score: 1}, candidate{score: 1.01}, -1},
		{candidate{score: 1, sigma: fairSigma}, candidate{score: 1}, 0},
		{candidate{score: 1, sigma: fairSigma + 0.05}, candidate{score: 1.09}, 1},
		{candidate{score: 1, sigma: fairSigma + 0.05}, candidate{score: 1.11}, -1},
	} {
		if got := tc.a.compare(tc.b); got != tc.want || tc.b.compare(tc.a) != -tc.want {
			t.Errorf("%+v to %+v: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
