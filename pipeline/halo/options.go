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

	// Between says what is different for rows that cross between ranks; nil: nothing. In one process it says nothing.
	Between *Between

	Piece gpu.Bytes // that a copy moves at most; 0 = 512 KiB, with the pipeline a quarter
}

// Between is how rows cross between ranks. Fields are as those of Options. Rows cross at most as often as others move.
type Between struct {
	HaloType      Encoding
	Staleness     jaca.Staleness
	Smoothing     float64
	BackwardExact bool
}

// across returns the options as they hold for rows that cross between ranks.
func (c *Options) across() *Options {
	if c.Between == nil {
		return c
	}
	o := *c
	o.HaloType, o.Staleness, o.Smoothing, o.BackwardExact = c.Between.HaloType, c.Between.Staleness, c.Between.Smoothing, c.Between.BackwardExact
	o.Between = nil
	return &o
}

// sides returns the options of rows that stay in a rank, and of those that cross.
func (c *Options) sides() [2]*Options { return [2]*Options{c, c.across()} }

// Ages reports whether rows of other parts may be of an earlier epoch than the one that uses them.
func (c *Options) Ages() bool { return c.Staleness.Bound > 0 || c.across().Staleness.Bound > 0 }

// Fresh makes all rows those of the epoch that uses them.
func (c *Options) Fresh() {
	c.Staleness, c.ExactEpochs = jaca.Staleness{}, 0
	if c.Between != nil {
		b := *c.Between
		b.Staleness = jaca.Staleness{}
		c.Between = &b
	}
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
	errs = append(errs, c.checkBetween()...)
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
	if c.Staleness.Auto() && (!c.Pipeline || c.policy() == jaca.None) {
		errs = append(errs, errors.New("adaptive staleness needs the pipeline, and a policy that keeps rows"))
	}
	if c.ExactEpochs < 0 || c.ExactEpochs > 0 && c.Staleness.Auto() {
		errs = append(errs, fmt.Errorf("%d exact epochs need a fixed staleness", c.ExactEpochs))
	}
	if !(c.Smoothing >= 0 && c.Smoothing < 1) {
		errs = append(errs, fmt.Errorf("smoothing by %g is not in [0, 1)", c.Smoothing))
	}
	if c.BackwardExact && c.Staleness.Auto() {
		errs = append(errs, errors.New("gradients of exact epochs only need a fixed staleness"))
	}
	if c.Bypass > 0 && c.Staleness.Auto() {
		errs = append(errs, fmt.Errorf("bypass at %g needs a fixed staleness", c.Bypass))
	}
	return errs
}

// checkBetween says what is wrong with rows that cross between ranks.
func (c *Options) checkBetween() (errs []error) {
	if c.Between == nil {
		return nil
	}
	b := c.across()
	if b.Staleness.Bound < c.Staleness.Bound || b.Staleness.Bound > jaca.MaxStaleness || b.Staleness.Auto() || c.Staleness.Auto() {
		errs = append(errs, fmt.Errorf("staleness %v between ranks is not in [%v, %d]", b.Staleness, c.Staleness, jaca.MaxStaleness))
	}
	if int(b.HaloType) >= len(encodingNames) {
		errs = append(errs, fmt.Errorf("encoding %d of rows between ranks", b.HaloType))
	}
	if c.BackwardExact && !b.BackwardExact && c.Staleness.Bound > 0 {
		errs = append(errs, errors.New("gradients between ranks in all epochs, inside of them in exact epochs only"))
	}
	return append(errs, b.checkStaleness()...)
}

// Period returns after how many epochs rows are renewed, 0 if they are of the epoch that uses them; where that adapts, the shortest.
func (c *Options) Period() int {
	if c.Staleness.Bound == 0 && c.Between != nil {
		return c.across().Period()
	}
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
