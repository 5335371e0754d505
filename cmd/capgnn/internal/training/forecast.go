package training

import (
	"context"
	"errors"
	"slices"
	"time"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/machines"
	"capgnn/jaca"
	"capgnn/pipeline"
	"capgnn/pipeline/halo"
	"capgnn/profiler"
)

// Forecaster says what a run would take: it simulates epochs on devices like those of the run, with its decisions or
// with others. It is copied to ask what would be with others.
type Forecaster struct {
	Input
	Decisions
	Where
	layout *pipeline.Layout // the graph as it is cut for the plan and the run; nil: not yet
}

// Measured returns what is known of the devices. It is looked up, or measured.
func (t *Forecaster) Measured(ctx context.Context) (*profiler.Profile, error) {
	if t.Profile != nil {
		return t.Profile, nil
	}
	return devices.Profile(ctx, t.Console, t.Specs, t.Config.Profile)
}

// ownParts are the parts of this process, of those that train at a time.
func (t *Forecaster) ownParts() graph.Range {
	if t.placed == nil {
		return graph.Range{Lo: 0, Hi: t.Workers()}
	}
	lo, hi := t.placed.ranges.Of(t.Ranks.Rank())
	return graph.Range{Lo: lo, Hi: hi}
}

// here makes options those of a trainer of the parts of this process, on devices that stand for its own.
func (t *Forecaster) here(opt *pipeline.Options, own []gpu.Device) {
	parts := t.ownParts()
	for p := parts.Lo; p < parts.Hi && own != nil; p++ {
		opt.Devices = append(opt.Devices, own[t.deviceOf(p)-t.firstDevice()])
	}
	if t.Ranks == nil {
		return
	}
	opt.First, opt.Parts, opt.Ranks = parts.Lo, t.Workers(), t.Ranks
	if l := &opt.Cache.Links; len(l.H2D) > 0 {
		l.H2D, l.D2H = l.H2D[parts.Lo:parts.Hi], l.D2H[parts.Lo:parts.Hi]
	}
}

// onWorkers returns the device of each worker of this process.
func (t *Forecaster) onWorkers() []gpu.Device {
	var opt pipeline.Options
	t.here(&opt, t.Devices)
	return opt.Devices
}

// Place gives a prediction the parts of this process, on its devices, and the order of their rows.
func (t *Forecaster) Place(o *pipeline.PredictOptions) {
	var all pipeline.Options
	t.here(&all, t.Devices)
	o.Devices, o.First, o.Parts, o.Ranks, o.Rank = all.Devices, all.First, all.Parts, all.Ranks, t.rank
}

// training is what both trainers are told, wherever parts lie.
func (t *Forecaster) training() pipeline.Training {
	c, model := &t.Config, t.network(&t.Config)
	return pipeline.Training{Model: model, Optimizer: c.UpdateRule(model), Schedule: c.Schedule.Value, Task: t.labels,
		Epochs: c.Epochs, EvalEvery: c.EvalEvery, Patience: c.Patience, BestByLoss: c.BestByLoss(),
		Storage: c.ElementType()}
}

// ProblemOptions returns what decides how the trainer lays out the problem; devices are missing.
func (t *Forecaster) ProblemOptions() pipeline.Options {
	c := &t.Config
	opt := pipeline.Options{Training: t.training(), Rank: t.rank, Cache: c.HaloCache()}
	opt.Part, opt.Dropped = t.parts(t.Data.Problem.Vertices())
	if i := c.Isolated.Value; i != nil {
		what := i.Isolated
		if i.Phases > 0 {
			what.Chunks = t.Parts
		}
		opt.Isolated, opt.Cache, opt.Dropped = &what, halo.Options{NoPeer: opt.Cache.NoPeer}, nil
		return opt
	}
	if t.streams {
		opt.Stream, opt.Cache = true, halo.Options{NoPeer: opt.Cache.NoPeer}
		return opt
	}
	// Those of other parts or devices were refused by SettleCache, or are not used any more.
	if slots := t.Config.CacheSlots.Value; len(slots) == t.Parts+1 {
		opt.Cache.Slots = slots
	}
	if links := t.Config.CacheLinks.Value; len(links) == len(t.Specs) || t.placed != nil {
		opt.Cache.Links = t.partLinks(links)
	}
	return opt
}

// Forecast simulates an epoch of the run with these parts. Nothing is computed. Caches that take what memory leaves
// take that of the devices; where a run does not fit, memory is counted without a limit and without them.
func (t *Forecaster) Forecast(ctx context.Context, part []int32, dropped [][]graph.NodeID) (*Outlook, error) {
	opt, err := t.forecastOptions(part, dropped)
	if err != nil {
		return nil, err
	}
	if opt.Cache.Local == (jaca.Size{}) && opt.Cache.Slots == nil {
		o, err := t.simulate(ctx, opt, true, 0)
		if oom := (*gpu.OutOfMemory)(nil); !errors.As(err, &oom) {
			return o, err
		}
		opt.Cache.Local = jaca.Rows(0)
	}
	return t.simulate(ctx, opt, false, 0)
}

// forecastOptions returns the run's options with these parts, and, where parts keep rows of each other, with the links
// of the profile unless others are recorded.
func (t *Forecaster) forecastOptions(part []int32, dropped [][]graph.NodeID) (pipeline.Options, error) {
	opt := t.ProblemOptions()
	opt.Part, opt.Dropped = part, dropped
	if t.Config.CacheLinks.String() != "" || t.Config.Isolated.Value != nil {
		return opt, nil
	}
	links, err := t.links(t.Profile)
	opt.Cache.Links = t.partLinks(links)
	return opt, err
}

// simulate is Forecast with the budgets of the devices, or without, over links of so many bytes per second; 0: those of
// the devices.
func (t *Forecaster) simulate(ctx context.Context, opt pipeline.Options, limited bool, link float64) (*Outlook, error) {
	parts, lines, err := t.machinesOfForecast()
	if err != nil {
		return nil, err
	}
	var first []int
	switch {
	case t.placed != nil:
		first = t.placed.first
	case parts != nil:
		first = firstsOf(parts)
	}
	var s *pipeline.Simulation
	err = t.onSimulated(limited, first, link, parts, lines,
		func(opened []gpu.Device, over *machines.Cluster) (err error) {
			for p := range t.Workers() {
				opt.Devices = append(opt.Devices, opened[t.deviceOf(p)])
			}
			s, err = pipeline.Simulate(ctx, labelled(t.Data.Problem), opt, over)
			return err
		})
	if err != nil {
		return nil, term.AsUsage(runfolder.ExplainCache(err))
	}
	o := newOutlook(s, t.deviceOf, netSeconds(s.Pairs, parts, lines))
	if limited && s.Caches != nil { // what a cache takes is free for all else
		for i, n := range s.Caches.Capacities.Local {
			for j := range t.Workers() {
				if t.deviceOf(j) == t.deviceOf(i) {
					o.Peak[j] -= gpu.Bytes(n) * s.Caches.Capacities.Slot
				}
			}
		}
	}
	return o, nil
}

// onSimulated calls simulate with simulated devices that are like those of the run, with their budgets or without, and
// with the machines that they are in; parts are by machine, nil: there is one.
func (t *Forecaster) onSimulated(limited bool, first []int, link float64, parts []int, lines [][]devices.Line,
	simulate func(opened []gpu.Device, over *machines.Cluster) error) error {
	var budgets []gpu.Bytes
	for i := range t.Specs {
		if limited {
			budgets = append(budgets, t.Budget(i))
		}
	}
	opened, err := devices.OpenForecast(t.Specs, t.Profile, budgets, first, link)
	if err != nil {
		return err
	}
	var over *machines.Cluster
	if parts != nil {
		over = &machines.Cluster{Parts: parts}
		over.Wire, err = devices.ForecastNetwork(opened, lines)
	}
	if err == nil {
		err = simulate(opened, over)
	}
	return errors.Join(err, devices.CloseAll(opened))
}

// Budget returns the memory that part i has.
func (t *Forecaster) Budget(i int) gpu.Bytes {
	d := t.deviceOf(i)
	if b := t.Specs[d].Memory; b > 0 {
		return b
	}
	return t.Profile.Devices[d].FreeBytes
}

// fullest returns what the device takes that needs most of what it has, what that one has, and whether all have enough.
// need is by part.
func (t *Forecaster) fullest(need []gpu.Bytes) (peak, budget gpu.Bytes, fits bool) {
	most := -1.0
	fits = true
	for i, n := range need {
		has := t.Budget(i)
		if share := float64(n) / float64(max(1, has)); share > most {
			most, peak, budget = share, n, has
		}
		fits = fits && n <= has
	}
	return peak, budget, fits
}

// labelled returns a problem that can be trained on: that of a prediction has no labels, and each vertex gets one.
func labelled(p *learn.Problem) *learn.Problem {
	if p.Labels != nil || p.Targets != nil || p.Shards != nil {
		return p
	}
	x := *p
	x.Labels, x.Train = make([]int32, p.Vertices()), slices.Repeat([]bool{true}, p.Vertices())
	return &x
}

// machinesOfForecast returns how many parts each machine has that a forecast knows of, and what connects them: of a run
// over ranks the ranks, of one process those for which its parts are cut. nil: there is one, or nothing is known of
// their lines.
func (t *Forecaster) machinesOfForecast() (parts []int, lines [][]devices.Line, err error) {
	if t.Config.Net.Value == nil || t.Config.Phased() {
		return nil, nil, nil
	}
	switch {
	case t.placed != nil:
		parts = t.partsByRank()
	case t.Parts == len(t.Specs): // else machines share devices
		if parts, err = t.Config.PartsOfMachines(t.Parts); err != nil {
			return nil, nil, err
		}
	}
	if len(parts) < 2 {
		return nil, nil, nil
	}
	lines, err = t.Config.LinesBetween(len(parts))
	return parts, lines, err
}

// firstsOf returns the first device of each machine, and behind the last one, where each part has a device of its own.
func firstsOf(parts []int) []int {
	first := []int{0}
	for k, n := range parts {
		first = append(first, first[k]+n)
	}
	return first
}

// netSeconds returns, by part, for how long its machine's network interface is busy in an epoch, in the direction that
// takes longer; nil: there is one machine.
func netSeconds(pairs []pipeline.RankPair, parts []int, lines [][]devices.Line) (all []float64) {
	through := throughEach(len(parts), pairs, func(x pipeline.RankPair) (int, int, float64) {
		return x.From, x.To, float64(x.Rows) / lines[x.From][x.To].BytesPerSec
	})
	for m, n := range parts {
		all = append(all, slices.Repeat(through[m:m+1], n)...)
	}
	return all
}

// settleNet reads the file that says what connects machines, and records what it says.
func (t *Forecaster) settleNet() error {
	n := t.Config.Net.Value
	if n == nil || n.File == "" {
		return nil
	}
	label := runfolder.Label(runfolder.NetOption)
	p, err := profiler.Read(n.File)
	if err != nil {
		return term.Usagef("%s: %w", label, err)
	}
	if len(p.Net) == 0 {
		return term.Usagef("%s=%s: the profile was measured on one machine: measure their lines with "+
			"`capgnn profile --cluster --out FILE`, on all of them at once", label, n.File)
	}
	ranks := p.Net[len(p.Net)-1].From + 1
	lines := make([][]devices.Line, ranks)
	for i := range lines {
		lines[i] = make([]devices.Line, ranks)
	}
	for _, x := range p.Net {
		lines[x.From][x.To] = devices.Line{BytesPerSec: x.BytesPerSec, Latency: time.Duration(x.RoundTrip / 2 * 1e9)}
	}
	t.Config.Set(runfolder.NetOption, runfolder.FormatPairs(lines))
	return nil
}

// partLinks returns the links of parts by those of devices; without these all are as fast.
func (t *Forecaster) partLinks(of []runfolder.Link) (l jaca.Links) {
	for p := range t.Parts {
		if len(of) > 0 {
			d := of[p%len(of)] // of the devices with which a run began that others continue
			if len(of) == len(t.Specs) {
				d = of[t.deviceOf(p)]
			}
			l.H2D, l.D2H = append(l.H2D, d.To), append(l.D2H, d.From)
		}
	}
	return l
}
