package halo

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/jaca"
)

// Cache says which halo rows are kept in memory and how old they may get. The zero value keeps none: every row that is read
// remotely moves in every epoch.
type Options struct {
	// Policy gives slots to rows; "" = none.
	Policy jaca.Policy
	// Local and Global are the sizes of a device's cache and of the host's; zero = what memory leaves, up to all rows.
	Local, Global jaca.Size
	// Slots are capacities that were decided before: rows of each part's cache, then of the host's. nil: Local and Global decide.
	Slots []int
	// ReserveDevice and ReserveHost is memory left alone.
	ReserveDevice, ReserveHost gpu.Bytes
	TopK                       int // halo rows that count per reader and owner (Algorithm 1); 0 = all
	// Links are the transfer rates that policy jaca decides by, of the parts of this process; zero: all equal.
	Links jaca.Links
	// Staleness bounds the age of halo rows in use. Where none can be of an earlier epoch, the run is that of staleness 0.
	Staleness jaca.Staleness
	// Layers are those whose rows may be of an earlier epoch, if Staleness allows it; nil: by the widths of layers (gnn.Choose).
	Layers []int
	// ExactEpochs is how many epochs at first use rows of their own epoch, as weights move most then. Adaptive staleness begins so
	// itself.
	ExactEpochs int
	// Smoothing γ, 0 ≤ γ < 1, mixes rows that may be of an earlier epoch with what their slot holds: ĥ = γ·ĥ + (1 − γ)·h at every refresh. 0 = rows
	// replace each other.
	Smoothing float64
	// BackwardExact exchanges the gradients of layers that age in exact epochs only, and drops them behind: other parts' rows count as constants
	// then (GNNAutoScale, ICML 2021).
	BackwardExact bool
	// Pipeline uses rows from the epoch on that follows the one that made them, so that they move while others compute. It
	// needs a staleness of 1 or more; at 0 transfers overlap inside the epoch alone.
	Pipeline bool
	// NoPeer lets rows pass through the host even where devices reach each other's memory.
	NoPeer bool
	// HaloType is what halo rows of training look like on their way, and in the global cache. Evaluation reads them as stored.
	HaloType Encoding
	// Bypass leaves caches alone for good once the mean hit rate of a period is below it: then all rows move in every epoch, where
	// they did not before. 0 = never. Not with adaptive staleness, which sets periods itself.
	Bypass float64
	// Host says how memory is locked that rows pass through; MLock as far as the system allows if Pinner is nil.
	Host hostmem.LockOptions
	Seed uint64 // of policy random

	Piece gpu.Bytes // that a copy moves at most; 0 = 512 KiB, with the pipeline a quarter
}

// policy returns the policy that the options ask for.
func (c *Options) policy() jaca.Policy {
	if c.Policy == "" {
		return jaca.None
	}
	return c.Policy
}

// Validate says what is wrong with the options of a run of so many parts, of which this process has own ones.
func (c *Options) Validate(parts, own int) error {
	var errs []error
	if _, err := jaca.ParsePolicy(string(c.policy())); err != nil {
		errs = append(errs, err)
	}
	if s := c.Staleness; s.Bound < 0 || s.Bound > jaca.MaxStaleness || s.Auto() && s.Bound != jaca.MaxStaleness {
		errs = append(errs, fmt.Errorf("staleness %v is not in [0, %d]", s, jaca.MaxStaleness))
	}
	if int(c.HaloType) >= len(encodingNames) {
		errs = append(errs, fmt.Errorf("encoding %d of halo rows", c.HaloType))
	}
	errs = append(errs, c.checkStaleness()...)
	if c.ReserveDevice < 0 || c.ReserveHost < 0 || c.TopK < 0 || !(c.Bypass >= 0 && c.Bypass <= 1) {
		errs = append(errs, fmt.Errorf("cache reserves %d and %d, top %d, bypass at %g", c.ReserveDevice, c.ReserveHost, c.TopK, c.Bypass))
	}
	if n := len(c.Slots); n != 0 && n != parts+1 || n > 0 && slices.Min(c.Slots) < 0 {
		errs = append(errs, fmt.Errorf("cache slots %v of %d parts and the host", c.Slots, parts))
	}
	return errors.Join(append(errs, c.checkLinks(own)...)...)
}

// checkLinks says what is wrong with the rates of so many parts.
func (c *Options) checkLinks(own int) (errs []error) {
	if n := len(c.Links.H2D); n != 0 && n != own {
		errs = append(errs, fmt.Errorf("transfer rates of %d devices for %d", n, own))
	}
	if bad := func(x float64) bool { return !(x > 0) || math.IsInf(x, 0) }; slices.ContainsFunc(c.Links.H2D, bad) || slices.ContainsFunc(c.Links.D2H, bad) {
		errs = append(errs, fmt.Errorf("transfer rates %v and %v are not all positive", c.Links.H2D, c.Links.D2H))
	}
	return errs
}

// checkStaleness says what does not go with old rows.
func (c *Options) checkStaleness() (errs []error) {
	if !c.policy().Static() && c.Staleness.Bound > 0 && (c.Pipeline || c.Staleness.Auto()) {
		errs = append(errs, fmt.Errorf("policy %s decides while rows are read: it needs the pipeline off and a fixed staleness", c.Policy))
	}
	if c.Staleness.Auto() && (!c.Pipeline || c.policy() == jaca.None) {
		errs = append(errs, errors.New("adaptive staleness needs the pipeline, and a policy that keeps rows"))
	}
	if c.ExactEpochs < 0 || c.ExactEpochs > 0 && (c.Staleness.Auto() || !c.policy().Static()) {
		errs = append(errs, fmt.Errorf("%d exact epochs need a fixed staleness, and a policy that keeps its rows", c.ExactEpochs))
	}
	if c.Smoothing != 0 && (!(c.Smoothing > 0 && c.Smoothing < 1) || !c.policy().Static()) {
		errs = append(errs, fmt.Errorf("smoothing by %g is not in [0, 1), or policy %s decides while rows are read", c.Smoothing, c.policy()))
	}
	if c.BackwardExact && (c.Staleness.Auto() || !c.policy().Static()) {
		errs = append(errs, errors.New("gradients of exact epochs only need a fixed staleness, and a policy that keeps its rows"))
	}
	if c.Bypass > 0 && c.Staleness.Auto() {
		errs = append(errs, fmt.Errorf("bypass at %g needs a fixed staleness", c.Bypass))
	}
	return errs
}

// Period returns after how many epochs rows are renewed, 0 if they are of the epoch that uses them; where that adapts, the shortest.
func (c *Options) Period() int {
	s, err := jaca.NewSchedule(c.Staleness.Bound, c.Pipeline, 0)
	switch {
	case err != nil || c.Staleness.Bound == 0:
		return 0
	case c.Staleness.Auto():
		return jaca.FirstPeriod
	}
	return s.Period
}

// Lock says how host memory is locked that rows pass through.
func (c *Options) Lock() hostmem.LockOptions {
	l := c.Host
	if l.Pinner == nil {
		l.Optional = true
	}
	return l
}
