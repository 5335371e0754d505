package rapa

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Method names a partitioner.
type Method string

// The partitioners.
const (
	Multilevel Method = "multilevel" // coarsened, cut and refined on the way back: package multilevel
	Streaming  Method = "streaming"  // greedy streaming in breadth-first order, restreamed, then refined
	Random     Method = "random"     // vertices in random order, cut by targets
)

// Methods lists all partitioners, the default first.
var Methods = []Method{Multilevel, Streaming, Random}

// Objective is what a partition minimises.
type Objective string

// The objectives.
const (
	Cut    Objective = "cut"    // pairs of neighbours in different parts
	Volume Objective = "volume" // vertices sent to other parts, once per part; Multilevel only
)

// Objectives lists all objectives, the default first.
var Objectives = []Objective{Cut, Volume}

// Quantity is something that parts hold in proportion to their targets.
type Quantity string

// The quantities.
const (
	ByVertices Quantity = "vertices" // inner vertices: hard, within Balance
	ByEdges    Quantity = "edges"    // their in-edges: soft, within SoftBalance
	ByTrain    Quantity = "train"    // training vertices: soft, within SoftBalance
	ByMemory   Quantity = "memory"   // what Options.Memory bounds: hard; Multilevel only
	ByWork     Quantity = "work"     // what Options.Work makes of vertices and in-edges: soft, within WorkBalance; Multilevel only
)

// Quantities lists all quantities.
var Quantities = []Quantity{ByVertices, ByEdges, ByTrain, ByMemory, ByWork}

// Options says how to partition. The zero value of every field but Parts is a usable default.
type Options struct {
	Method Method // "" = Multilevel
	Parts  int    // number of parts, ≥ 1
	// Targets is the share of the work that each part shall hold: positive, one per part, sum 1; nil = equal shares.
	Targets   []float64
	Objective Objective // "" = Cut
	// Machines is how many parts each machine has, in the order of the parts: the graph is cut into machines first.
	// nil = all parts are on one machine. Streaming and Random ignore it.
	Machines []int
	// BalanceBy lists the balanced quantities. Empty = vertices only, as METIS does. Streaming and Random always
	// balance vertices.
	BalanceBy []Quantity
	// Balance bounds inner vertices: no part holds more than ⌈Balance·target·n⌉. At least 1; 0 = 1.03.
	Balance float64
	// SoftBalance is the wanted bound on edges and on training vertices. Moves never worsen a part that exceeds it,
	// but a graph may make it impossible (one hub can have more edges than a part should). At least 1; 0 =
	// SoftBalance.
	SoftBalance float64
	// Memory is the limit of ByMemory: part i is on device i.
	Memory Memory
	// Work is the quantity of ByWork: PerInner for each inner vertex and PerEdge for each of its in-edges, in any
	// unit.
	Work PartCost
	// WorkBalance is wanted as the bound on work. At least 1; 0 = 1.01.
	WorkBalance float64
	Seed        uint64
	// Effort is the number of partitions that Multilevel makes and combines; 0 = by size: from 8 on small graphs in up to 16 parts to 1
	// on large ones and on small ones in many parts (multilevel.Options has the numbers).
	Effort int
	// MaxEffort bounds them where Effort is 0; 0 = no bound.
	MaxEffort int
	// Threads bounds the goroutines of Multilevel; 0 = GOMAXPROCS. It decides nothing and is not in Key.
	Threads int
	Passes  int // restreaming passes after the first; 0 = 8, negative = none
	// Trials is how often Streaming runs with other settings before the best partition is taken; 0 = 8 on graphs of up to
	// a million stored edges, fewer on larger ones, 1 from eight million on.
	Trials int
	// Graph is a hash of the graph, which Key uses instead of reading the graph's arrays. "" = it reads them.
	Graph string
}

// SoftBalance is the default of Options.SoftBalance.
const SoftBalance = 1.10

// maxParts bounds the number of parts; a part is a device.
const maxParts = 1 << 12

// resolve returns o with defaults filled in, checked against a graph of n vertices. All problems are reported at once.
func (o Options) resolve(n int, edges int64) (Options, error) {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	o.Method, o.Objective = cmp.Or(o.Method, Methods[0]), cmp.Or(o.Objective, Cut)
	if !slices.Contains(Methods, o.Method) {
		bad("partitioner %q is not one of %v", o.Method, Methods)
	}
	if !slices.Contains(Objectives, o.Objective) {
		bad("objective %q is not one of %v", o.Objective, Objectives)
	}
	if o.Objective == Volume && o.Method != Multilevel {
		bad("objective %q: partitioner %q does not know it, %q does", o.Objective, o.Method, Multilevel)
	}
	if len(o.BalanceBy) == 0 {
		o.BalanceBy = []Quantity{ByVertices}
	}
	errs = append(errs, o.checkQuantities()...)
	errs = append(errs, o.checkMachines()...)
	switch {
	case o.Parts < 1 || o.Parts > maxParts:
		bad("%d parts are not in [1, %d]", o.Parts, maxParts)
	case o.Parts > n && n > 0:
		bad("%d parts are more than the graph's %d vertices: use at most %d", o.Parts, n, n)
	case n == 0:
		bad("the graph has no vertices")
	case o.Targets == nil:
		o.Targets = slices.Repeat([]float64{1 / float64(o.Parts)}, o.Parts)
	default:
		if err := checkTargets(o.Targets, o.Parts); err != nil {
			errs = append(errs, err)
		}
		o.Targets = normalised(o.Targets)
	}
	errs = append(errs, o.resolveBalance()...)
	errs = append(errs, o.resolveEffort(edges)...)
	return o, errors.Join(errs...)
}

// resolveBalance fills in and checks how unequal parts may be.
func (o *Options) resolveBalance() (errs []error) {
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	o.Balance = orDefault(o.Balance, 1.03)
	o.SoftBalance = orDefault(o.SoftBalance, SoftBalance)
	if !(o.Balance >= 1 && o.Balance <= maxBalance) {
		bad("balance %g is not in [1, %d]", o.Balance, maxBalance)
	}
	if !(o.SoftBalance >= 1 && o.SoftBalance <= maxBalance) {
		bad("soft balance %g is not in [1, %d]", o.SoftBalance, maxBalance)
	}
	o.WorkBalance = orDefault(o.WorkBalance, 1.01)
	if !(o.WorkBalance >= 1 && o.WorkBalance <= maxBalance) {
		bad("balance of work %g is not in [1, %d]", o.WorkBalance, maxBalance)
	}
	return errs
}

// resolveEffort fills in and checks how long is searched.
func (o *Options) resolveEffort(edges int64) (errs []error) {
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	switch {
	case o.Passes == 0:
		o.Passes = 8
	case o.Passes < 0:
		o.Passes = 0
	case o.Passes > 1000:
		bad("%d restreaming passes are more than 1000", o.Passes)
	}
	if o.Effort < 0 || o.Effort > 100 || o.MaxEffort < 0 {
		bad("effort %d, or at most %d, is not in [0, 100]", o.Effort, o.MaxEffort)
	}
	if o.Trials == 0 {
		o.Trials = int(min(8, max(1, 8_000_000/max(edges, 1))))
	}
	if o.Trials < 1 || o.Trials > 1000 {
		bad("%d trials are not in [1, 1000]", o.Trials)
	}
	return errs
}

// checkQuantities says what is wrong with what is to be balanced.
func (o Options) checkQuantities() (errs []error) {
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	for i, q := range o.BalanceBy {
		if !slices.Contains(Quantities, q) {
			bad("balance by %q: it is not one of %v", q, Quantities)
		}
		if slices.Contains(o.BalanceBy[:i], q) {
			bad("balance by %q: it is given twice", q)
		}
	}
	if o.balances(ByWork) {
		if o.Method != Multilevel {
			bad("balance by %q: partitioner %q does not know it, %q does", ByWork, o.Method, Multilevel)
		}
		if err := o.Work.validate(); err != nil {
			bad("balance by %q: %w", ByWork, err)
		}
	}
	if !o.balances(ByMemory) {
		return errs
	}
	if o.Method != Multilevel {
		bad("balance by %q: partitioner %q does not know it, %q does", ByMemory, o.Method, Multilevel)
	}
	if o.Memory.Have == nil {
		bad("balance by %q: the devices' memory is missing", ByMemory)
	}
	if err := o.Memory.validate(o.Parts); err != nil {
		errs = append(errs, err)
	}
	if f := o.Memory.Footprint; max(f.PerInner, f.PerEdge, f.PerHalo) > maxFootprint {
		bad("footprint %+v has more than %d bytes per row or edge", f, maxFootprint)
	}
	return errs
}

// balances reports whether q is among what is balanced.
func (o Options) balances(q Quantity) bool { return slices.Contains(o.BalanceBy, q) }

// maxFootprint bounds bytes per row or edge, so that sums over a graph fit 64 bits.
const maxFootprint = 1 << 28

// maxBalance bounds the balance factors; beyond it they mean "unbounded" anyway.
const maxBalance = 1000

func orDefault(x, def float64) float64 {
	if x == 0 {
		return def
	}
	return x
}

func checkTargets(t []float64, parts int) error {
	if len(t) != parts {
		return fmt.Errorf("%d targets for %d parts: give one per part", len(t), parts)
	}
	sum := 0.0
	for p, x := range t {
		if !(x > 0 && x <= 1) {
			return fmt.Errorf("target %g of part %d is not in (0, 1]", x, p)
		}
		sum += x
	}
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("targets sum to %g, want 1", sum)
	}
	return nil
}

// normalised returns t scaled to sum 1, so that bounds always hold all vertices.
func normalised(t []float64) []float64 {
	sum := 0.0
	for _, x := range t {
		sum += x
	}
	out := make([]float64, len(t))
	for p, x := range t {
		out[p] = x / sum
	}
	return out
}
