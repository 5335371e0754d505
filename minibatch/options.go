package minibatch

import (
	"errors"
	"fmt"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/trainer"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
)

// Sampling says what a step is made of.
type Sampling struct {
	BatchSize int   // roots of a step over all parts, ≥ 1; more than there are training vertices: all of them
	Fanout    []int // neighbours by hop, nearest the roots first, as many as layers; sample.All = every in-neighbour
	// Ladies selects layer-wise sampling (package sample): Fanout is how many vertices each layer draws for a step; a
	// part draws the same share of them as it has of the roots.
	Ladies bool
	// Local has every part take roots among its own vertices, as many steps on every part. Otherwise parts share the roots of one order over all parts.
	Local    bool
	Prefetch int // steps that are sampled ahead; 0 = 3. Results do not depend on it
	Samplers int // goroutines that sample for a part; 0 = 1, and beside GPUs alone up to 4. Results do not depend on it

	Place   Place
	NoMerge bool // with Hop: time steps stay as many as parts
	// Merged is with Hop how many time steps an earlier run dropped for good (Result.Merged): this one drops the same ones in the same epochs. nil: as many as move the fewest bytes
	// between parts.
	Merged *int
	// MeasureMerge chooses the number of time steps by measured epoch times, if Merged is not given, so a rerun may
	// have other bits.
	MeasureMerge bool
	NoGather     bool // with Hop: rows are fetched for each unit of a step, not once for all
	// Fetch is how rows of other parts are fetched, RowCache how many of them each part caches. Results depend on
	// neither.
	Fetch    rowcache.Rules
	RowCache CacheSize
	// Resident is how many rows of its part a device with separate memory keeps there, if they fit; CacheShare is a
	// share of the part's rows. Results do not depend on it.
	Resident CacheSize
}

// Options configures a Trainer.
type Options struct {
	Training
	Sampling   Sampling
	EvalFanout []int // scores are estimates: neighbours by hop that an evaluation reads, as Sampling.Fanout; nil: exact

	Devices []gpu.Device // one part each, in order; a device may appear more than once; nil: another process's part
	Part    []int32      // home of every vertex; nil: there is one part, or they are isolated
	// Isolated has parts draw neighbours within two chunks of the graph; nil: within all of it.
	Isolated *Isolated
	// Shares are of a step's roots by part, with global roots; nil: equal. With Home a part has at most 1.05 times its
	// share.
	Shares []float64

	CheckpointSteps int                 // steps between checkpoints inside epochs, counted from the epoch's first; 0 = none
	Lock            hostmem.LockOptions // how memory that devices copy from is page-locked
	// OnStep is called behind every step of the first part of this process, from a goroutine of the run; it must be
	// short.
	OnStep func(Progress)
}

// core is what package trainer has to know.
func (o *Options) core() trainer.Options {
	return trainer.Options{Training: o.Training, Devices: o.ownDevices(), First: o.own().Lo, Parts: len(o.Devices),
		EverySteps: o.CheckpointSteps, Lock: o.Lock}
}

// ahead returns how many steps are drawn before they are due, at most, where an epoch has so many, whatever caches hold.
func (o *Options) ahead(epoch int) int {
	if o.fetches() {
		return max(o.Sampling.Prefetch, o.Sampling.Fetch.Reach(epoch, 0, 1))
	}
	return o.Sampling.Prefetch
}

// fetches reports whether rows of other parts have to be fetched: where links or a network lie between the parts, or some are kept. Else they are read as own ones, from where they lie.
func (o *Options) fetches() bool {
	return len(o.Devices) > 1 && o.Part != nil && o.Isolated == nil && (o.Several() || o.Sampling.Fetch.Kind != rowcache.Demand || Linked(o.Devices))
}

// Linked reports whether links are emulated between devices.
func Linked(devices []gpu.Device) bool {
	return slices.ContainsFunc(devices, func(d gpu.Device) bool {
		r, ok := d.(gpu.Resident)
		return ok && r.Linked()
	})
}

// DefaultFetch returns how rows of other parts are fetched by default: with a cache that looks ahead if they cross
// links, else without a cache.
func DefaultFetch(devices []gpu.Device) rowcache.Rules {
	if len(devices) > 1 && (Linked(devices) || slices.Contains(devices, nil)) {
		return rowcache.Rules{Kind: rowcache.Planned}
	}
	return rowcache.Rules{}
}

// DefaultFanout returns the fan-outs of a model: 15, 10, 5, 5 and so on, the last one all of the neighbours where their features are summed up once, before
// the first step: of dense features, and of models that read ÂX in training.
func DefaultFanout(c gnn.Config, sparse bool) []int {
	out := make([]int, c.Layers)
	for h := range out {
		out[h] = []int{15, 10, 5}[min(h, 2)]
	}
	if c.Layers > 0 && c.Precomputes() && !sparse {
		out[c.Layers-1] = sample.All
	}
	return out
}

// lossRows bounds the roots of a part in a step, of so many in an epoch: local ones are shared out to steps, one more or less.
func (o *Options) lossRows(total int) int { return min(total, o.Sampling.BatchSize+1) }

// Validate reports all problems of o and p at once.
func (o *Options) Validate(p *learn.Problem) error {
	_, errs := o.Check(p)
	errs = append(errs, o.checkSampling()...)
	errs = append(errs, o.checkParts(p)...)
	errs = append(errs, o.checkEvaluation(p))
	errs = append(errs, o.checkIsolated(p)...)
	if o.Model.SumsAll() {
		errs = append(errs, errors.New("the model sums over all vertices, of which a sampled step and a chunk of an evaluation have some: train full batches"))
	}
	if n, _ := o.Model.Meetings(); n > 0 && o.Sampling.Place == Hop && len(o.Devices) > 1 {
		errs = append(errs, errors.New("batch_norm needs all rows of a step at once, which models that visit parts compute one after the other: drop --sampling hopgnn"))
	}
	if o.Sampling.Ladies && (o.Isolated != nil || o.Model.Attends()) {
		errs = append(errs, errors.New("layers are drawn neither for isolated parts nor for models that weigh edges by attention"))
	}
	if o.CheckpointSteps < 0 {
		errs = append(errs, errors.New("checkpoint interval must not be negative"))
	}
	return errors.Join(errs...)
}

func (o *Options) checkSampling() (errs []error) {
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	s := &o.Sampling
	if s.BatchSize < 1 {
		bad("batch size %d: want at least 1", s.BatchSize)
	}
	if len(s.Fanout) != o.Model.Layers {
		bad("%d fan-outs for %d layers", len(s.Fanout), o.Model.Layers)
	}
	for h, k := range s.Fanout {
		if k < 1 {
			bad("fan-out %d of hop %d: want at least 1", k, h+1)
		}
	}
	if s.Prefetch < 0 || s.Samplers < 0 {
		bad("steps sampled ahead and samplers must not be negative")
	}
	if err := s.Fetch.Validate(); err != nil {
		errs = append(errs, err)
	}
	for _, size := range []CacheSize{s.RowCache, s.Resident} {
		if err := size.check(); err != nil {
			errs = append(errs, err)
		}
	}
	return append(errs, s.checkPlace()...)
}

func (o *Options) checkParts(p *learn.Problem) (errs []error) {
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	parts := len(o.Devices)
	if parts == 0 {
		bad("no device")
	}
	if o.Part == nil && parts > 1 && o.Isolated == nil {
		bad("no part entries for %d devices", parts)
	}
	if o.Part != nil && len(o.Part) != p.Vertices() {
		bad("%d part entries for %d vertices", len(o.Part), p.Vertices())
	}
	if v := slices.IndexFunc(o.Part, func(d int32) bool { return d < 0 || int(d) >= parts }); v >= 0 && parts > 0 {
		bad("vertex %d: part %d is outside [0, %d)", v, o.Part[v], parts)
	}
	sum := 0.0
	for _, s := range o.Shares {
		if !(s >= 0) || s > 1e300 {
			bad("share %v of a step's roots: want a number that is not negative", s)
		}
		sum += s
	}
	if o.Shares != nil && (len(o.Shares) != parts || sum <= 0) {
		bad("%d shares of a step's roots, of sum %v, for %d parts", len(o.Shares), sum, parts)
	}
	errs = append(errs, o.checkRanks()...)
	if o.Shares != nil && o.Sampling.Local {
		bad("shares of a step's roots: parts with local roots take their own")
	}
	return errs
}

func (o *Options) checkEvaluation(p *learn.Problem) error {
	switch last := o.Model.Layers - 1; {
	case o.EvalFanout == nil:
	case len(o.EvalFanout) != o.Model.Layers || slices.Min(o.EvalFanout) < 1:
		return fmt.Errorf("fan-outs %v of evaluation: want %d, each at least 1", o.EvalFanout, o.Model.Layers)
	case o.EvalFanout[last] != sample.All && o.readsSums(p):
		return errors.New("--fanout eval: evaluation reads all neighbours at the last hop, whose features are summed once: write all for it")
	}
	return nil
}

// readsSums reports whether evaluation reads ÂX. It does where that can be made, whatever training samples.
func (o *Options) readsSums(p *learn.Problem) bool {
	return o.Model.CanPrecompute() && !p.Features.Sparse()
}
