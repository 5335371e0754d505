package training

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/pipeline"
	"capgnn/rapa/balance"
)

// Step is what a run does before it trains. All ranks do it.
type Step func(context.Context) error

// Decider settles something that is open in the decisions of a run.
type Decider func(context.Context, Forecaster) (Decisions, error)

// Steps are those of a run before it trains, in this order. All ranks do alike what is a step by itself, and rank 0
// decides for all what deciders settle.
func (t *Run) Steps() []Step { return append(t.BeforeMemory(), t.preflight, t.comparePlans) }

// BeforeMemory are those of Steps after which it is looked at what memory the run takes.
func (t *Run) BeforeMemory() []Step {
	deciders := []Decider{Divide, SettleCache, SettleAging, Arrange}
	if t.Config.Sampled() {
		deciders = []Decider{Divide, settleShares}
	}
	return []Step{t.Load, t.checkModel, t.compareData, t.ChooseDevices, t.mapShards, t.measure, t.decided(deciders...),
		t.follow, t.Open}
}

// ForPrediction are the steps of a prediction between the data set and the network: its devices and parts, and the order
// of rows that its settings name.
func (t *Run) ForPrediction() []Step {
	return []Step{t.compareData, t.ChooseDevices, t.mapShards, t.measure, t.decided(Divide), t.takeOrder, t.Open}
}

// Decide takes deciders one behind the other.
func (t *Forecaster) Decide(ctx context.Context, deciders ...Decider) error {
	for _, decide := range deciders {
		d, err := decide(ctx, *t)
		t.Decisions = d
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// decided is the step in which rank 0 takes deciders, and all get what it has decided.
func (t *Run) decided(deciders ...Decider) Step {
	return func(ctx context.Context) error {
		if t.Ranks != nil {
			return t.decideTogether(ctx, deciders)
		}
		return t.Decide(ctx, deciders...)
	}
}

// checkModel refuses the program of --model FILE where the operations that are derived from it compute something else
// than it says, and weights of --init that are of something else.
func (t *Run) checkModel(ctx context.Context) error {
	if t.Config.Program() != nil {
		sparse := t.Data.Problem.Features.Sparse()
		if err := Prove(ctx, t.Config.Model, t.network(&t.Config), sparse); err != nil {
			return err
		}
	}
	if !t.Ranks.Leads() {
		return nil
	}
	return t.compareInitial(&t.Config)
}

// Prove compares a program, which was read from a file, with its definition: in one part and in two (pipeline.Prove).
func Prove(ctx context.Context, file string, m gnn.Config, sparse bool) error {
	for _, list := range []string{"cpu:threads=1", "cpu:threads=1,cpu:threads=1"} {
		specs, err := devices.Parse(list)
		if err != nil {
			return err
		}
		open, err := devices.Open(specs)
		if err != nil {
			return err
		}
		err = pipeline.Prove(ctx, m, sparse, open)
		if err = devices.CloseAfter(err, open); err != nil {
			return term.Usagef("%s: %w", file, err)
		}
	}
	return nil
}

// mapShards maps the shards of the parts of this process, of a data set that is kept in shards. Who writes the folder
// of the run reads the ids of the vertices.
func (t *Run) mapShards(ctx context.Context) error {
	if t.Ranks.Leads() {
		if err := t.Data.ReadIDs(); err != nil {
			return err
		}
	}
	return t.Data.MapShards(ctx, t.Console, t.ownParts())
}

// Open opens the devices of this process, and refuses what cannot fit before anything of that size is asked for.
func (t *Run) Open(ctx context.Context) (err error) {
	if t.Ranks == nil {
		t.Devices, err = devices.Open(t.Specs)
	} else {
		_, here := t.Ranks.Local()
		t.Devices, err = devices.OpenBeside(t.ownSpecs(), here)
	}
	if err != nil {
		return err
	}
	if t.Config.Profile != "" && len(t.Specs) == 1 { // nothing else reads it
		if _, err := t.Measured(ctx); err != nil {
			return err
		}
	}
	if !t.Specs[0].Simulated() {
		t.measureOwn()
	}
	if e := t.tooLarge(); e != nil {
		e.Remedy += t.fitting(ctx)
		return e
	}
	return nil
}

// Load reads the data set and checks it against what the run was made with.
func (t *Run) Load(ctx context.Context) error {
	if t.Data == nil {
		data, err := datasets.Load(ctx, t.Console, &t.Config)
		if err != nil {
			return term.AsUsage(err)
		}
		t.Data = data
	}
	p := t.Data.Problem
	if err := p.Validate(); err != nil {
		return term.Usagef("--dataset %s: %w", t.Config.Dataset, err)
	}
	if _, err := t.Config.NetworkOf(p); err != nil && t.Config.ModelFile() {
		return term.Usagef("%s: %w: write one for these data: `capgnn model show NAME --in-channels %d --out-channels %d`, "+
			"or capgnn.trace", t.Config.Model, err, p.Features.Cols, p.Classes)
	} else if err != nil {
		return t.AsUsage(err)
	}
	if _, err := learn.Metric(t.Config.Metric).Of(p); err != nil && !t.Anonymous {
		return t.AsUsage(fmt.Errorf("--metric %w", err))
	}
	if err := t.settlePositive(&t.Config); err != nil && !t.Anonymous {
		return t.AsUsage(err)
	}
	if t.Config.WatchesValidation() && p.Shards == nil && !slices.Contains(p.Val, true) && !t.Anonymous {
		return t.AsUsage(fmt.Errorf("--schedule plateau watches validation vertices, and %s has none: "+
			"choose another schedule, or --split", t.Data.Name))
	}
	if gaps := t.metric(&t.Config).Gaps(p); gaps != "" && !t.Anonymous {
		t.Console.Note("note: --metric %s: classes without a score: %s", t.Config.Metric, gaps)
	}
	identity := t.Data.Identity()
	switch was := t.Config.DataSHA256; {
	case was == "" || was == identity:
	case t.Resume:
		if what := t.changed(); what != "" {
			return t.edited(what)
		}
		return term.Usagef("--resume %s: data set %s is not what the run was trained on: restore it, or start a new run",
			t.Dir, t.Data.Name)
	default:
		t.Console.Note("note: data set %s differs from the one the config file was written for", t.Data.Name)
	}
	if t.Resume && t.Ranks.Leads() {
		if err := t.sameNames(&t.Input); err != nil {
			return err
		}
	}
	t.Config.DataSHA256 = identity
	if t.OnData != nil {
		if err := t.OnData(); err != nil {
			return err
		}
	}
	if err := t.settleShards(&t.Config, t.Ranks != nil); err != nil {
		return err
	}
	if err := t.settleCriterion(&t.Config); err != nil {
		return err
	}
	t.settleSampled(p.Features.Sparse())
	t.Console.Note("%s: %s, %s", t.Data.Name, t.Data.Size(), term.Counted(p.Classes, "class"))
	return nil
}

// LoadGraph reads the data set. One without features or labels will do: it is cut, and nothing is said about training.
func (t *Run) LoadGraph(ctx context.Context) error {
	started := time.Now()
	d, err := datasets.Read(ctx, t.Console, &t.Config)
	if err != nil {
		return term.AsUsage(err)
	}
	if d.Features.Present() && (d.Labels != nil || d.Targets != nil) {
		if t.Data, err = datasets.Prepare(ctx, t.Console, &t.Config, d, started); err != nil {
			return term.AsUsage(err)
		}
		t.cutting = true
		return t.Load(ctx)
	}
	p := &learn.Problem{Graph: d.Graph, Loops: datasets.LoopsOf(&t.Config)}
	if !d.Drawn {
		p.Train = d.Train
	}
	t.cutting, t.Bare = true, true
	t.Data = &datasets.Input{Name: d.Name, Problem: p, Sums: diskcache.SumsOf(p), CloseFiles: d.Close}
	t.Console.Note("%s: %s, %s, nothing to learn from: times and memory of training cannot be told", d.Name,
		term.Counted(p.Vertices(), "vertex"), term.Counted(p.Graph.Edges(), "edge"))
	return nil
}

// ChooseDevices settles the devices and the number of parts.
func (t *Run) ChooseDevices(ctx context.Context) error {
	if t.Ranks != nil {
		return t.placeTogether(ctx)
	}
	list := t.Config.Devices
	if t.Anonymous && devices.IsAuto(list) {
		list = "cpu:0" // it stands for whatever there will be: no GPU is looked for
	}
	specs, err := devices.Parse(list)
	if err != nil {
		return err
	}
	devices.ShareCores(specs, devices.Cores())
	for i := range specs {
		specs[i].TF32 = specs[i].GPU && t.Config.TF32
	}
	if devices.IsAuto(t.Config.Devices) && !t.Anonymous {
		_, why := devices.Auto()
		t.Console.Note("devices: %s (%s)", devices.Format(specs), why)
	}
	t.partsOpen = t.Config.Parts == 0 && t.Config.Plan == "" && t.Data.Shards == nil
	if t.Parts, err = t.Config.PartCount(len(specs), t.Data.Problem.Vertices()); err != nil {
		return err
	}
	if n := t.Workers(); n < len(specs) {
		t.Console.Note("note: %s on the first %d of %d devices", term.Counted(n, "part"), n, len(specs))
		specs = specs[:n]
	}
	t.Specs, t.Config.Devices, t.Config.Parts = specs, devices.Format(specs), t.Parts
	noteProducts(&t.Forecaster)
	estimateStages(&t.Forecaster)
	return nil
}

// noteProducts says who multiplies dense matrices on the GPUs of this process, and where --tf32 changes nothing.
func noteProducts(t *Forecaster) {
	if t.Anonymous {
		return
	}
	isGPU := func(s devices.Spec) bool { return s.GPU }
	if t.Config.TF32 && !slices.ContainsFunc(t.Specs, isGPU) {
		t.Console.Note("note: --tf32 has no effect: no device is a GPU")
	}
	if !slices.ContainsFunc(t.ownSpecs(), isGPU) {
		return
	}
	p := devices.ProductsOn(t.ownSpecs())
	text := p.Who
	switch {
	case t.Config.TF32 && !p.Rounds:
		t.Console.Note("note: --tf32 has no effect: dense products use %s, which round nothing", p.Who)
		return
	case t.Config.TF32:
		text += ", operands rounded to TF32 where the GPU can"
	}
	switch {
	case t.Config.ElementType() != gpu.BF16 || !p.Rounds:
	case p.Half:
		text += ", in bf16 where rows are stored so"
	default:
		text += "; rows stored in bf16 by capgnn's own kernels on GPUs before sm_80"
	}
	t.Console.Note("dense products on GPUs: %s", text)
}

// What a run does before its first epoch takes about so long on a core; how long in truth depends on the graph and on
// what else the machine does. Only the pace of the bar depends on it.
const (
	stageTime = time.Second / 2 // of every round of a stage, beside what takes time for an edge
	readTime  = 2 * time.Second // before it is known what is read
	cutTime   = time.Microsecond
	orderTime = 200 * time.Nanosecond
	layTime   = 100 * time.Nanosecond
	placeTime = 500 * time.Nanosecond
)

// BeginStages begins the bar of a run.
func (t *Run) BeginStages(title string) {
	expected := [term.Stages]time.Duration{term.Reading: readTime, term.Cutting: stageTime, term.Checking: stageTime,
		term.Placing: stageTime}
	specs, err := devices.Parse(t.Config.Devices)
	known := err != nil || t.Config.Profile != "" || devices.IsAuto(t.Config.Devices) || devices.Alike(specs)
	if !known && !specs[0].Simulated() {
		expected[term.Measuring] = devices.MeasureTime * time.Duration(len(specs))
	}
	t.Console.BeginStages(title, expected)
	t.Console.Enter(term.Reading)
}

// estimateStages says what the stages will take, once it is known how large the graph is.
func estimateStages(t *Forecaster) {
	edges := time.Duration(t.Data.Problem.Edges())
	rounds := 0
	if t.Parts > 1 && t.Data.Shards == nil {
		if rounds = 1; t.uneven() {
			rounds += balance.Recuts
		}
	}
	t.Console.Expect(term.Cutting, time.Duration(rounds)*(stageTime+edges*cutTime), rounds)
	if t.Config.Order != runfolder.OrderNone {
		t.Console.Expect(term.Ordering, stageTime+edges*orderTime, 1)
	}
	t.Console.Expect(term.Checking, stageTime+edges*layTime, 1)
	t.Console.Expect(term.Placing, stageTime+edges*placeTime, 1)
}
