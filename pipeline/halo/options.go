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
	// Staleness bounds the age of halo rows in use, in epochs. Where none can be of an earlier epoch, the run is that of staleness 0.
	Staleness int
	// Layers are those whose rows may be of an earlier epoch, if Staleness allows it; nil: by the widths of layers (gnn.Choose).
	Layers []int
	// ExactEpochs is how many epochs at first use rows of their own epoch, as weights move most then.
	ExactEpochs int
	// Pipeline uses rows from the epoch on that follows the one that made them, so that they move while others compute. It
	// needs a staleness of 1 or more; at 0 transfers overlap inside the epoch alone.
	Pipeline bool
	// NoPeer lets rows pass through the host even where devices reach each other's memory.
	NoPeer bool
	// HaloType is what halo rows of training look like on their way, and in the global cache. Evaluation reads them as stored.
	HaloType Encoding
	// Host says how memory is locked that rows pass through; MLock as far as the system allows if Pinner is nil.
	Host hostmem.LockOptions

	Piece gpu.Bytes // that a copy moves at most; 0 = 512 KiB, with the pipeline a quarter
}

// Ages reports whether rows of other parts may be of an earlier epoch than the one that uses them.
func (c *Options) Ages() bool { return c.Staleness > 0 }

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
	if c.Staleness < 0 || c.Staleness > jaca.MaxStaleness || c.ExactEpochs < 0 {
		errs = append(errs, fmt.Errorf("staleness %d is not in [0, %d], or %d exact epochs", c.Staleness, jaca.MaxStaleness, c.ExactEpochs))
	}
	if int(c.HaloType) >= len(encodingNames) {
		errs = append(errs, fmt.Errorf("encoding %d of halo rows", c.HaloType))
	}
	if c.ReserveDevice < 0 || c.ReserveHost < 0 || c.TopK < 0 {
		errs = append(errs, fmt.Errorf("cache reserves %d and %d, top %d", c.ReserveDevice, c.ReserveHost, c.TopK))
	}
	if n := len(c.Slots); n != 0 && n != parts+1 || n > 0 && slices.Min(c.Slots) < 0 {
		errs = append(errs, fmt.Errorf("cache slots %v of %d parts and the host", c.Slots, parts))
	}
	return errors.Join(append(errs, c.checkLinks(own)...)...)
}

func (c *Options) checkLinks(own int) (errs []error) {
	if n := len(c.Links.H2D); n != 0 && n != own {
		errs = append(errs, fmt.Errorf("transfer rates of %d devices for %d", n, own))
	}
	if bad := func(x float64) bool { return !(x > 0) || math.IsInf(x, 0) }; slices.ContainsFunc(c.Links.H2D, bad) || slices.ContainsFunc(c.Links.D2H, bad) {
		errs = append(errs, fmt.Errorf("transfer rates %v and %v are not all positive", c.Links.H2D, c.Links.D2H))
	}
	return errs
}

// Period returns after how many epochs rows are renewed, 0 if they are of the epoch that uses them.
func (c *Options) Period() int {
	s, err := jaca.NewSchedule(c.Staleness, c.Pipeline, 0)
	if err != nil || c.Staleness == 0 {
		return 0
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
