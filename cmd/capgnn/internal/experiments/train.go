package experiments

import (
	"context"
	"errors"
	"strconv"
	"time"

	"gonum.org/v1/gonum/stat"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gpu"
	"capgnn/internal/bench"
	"capgnn/minibatch"
	"capgnn/pipeline"
)

// trained is the cell of a setting that is trained, on its devices, or where these are simulated on CPU devices.
func (b *Bench) trained(s setting) cell {
	return cell{s.id(kindTrain), func(ctx context.Context) (*bench.Line, error) { return b.train(ctx, s) }}
}

// ofSeeds returns what a setting gave with each seed.
func (b *Bench) ofSeeds(at func(seed uint64) setting) []*bench.Line {
	var out []*bench.Line
	for _, seed := range b.opt.Seeds {
		out = append(out, b.line(b.trained(at(seed)).id))
	}
	return out
}

// train runs a setting: scores at the best validation epoch, times in seconds and bytes per epoch (medians and means of the
// epochs behind the first), series by epoch.
//
// Where the devices are simulated, CPU devices without access to each other's memory take their places: parts, caches, bytes
// and what is computed are the same, times are not meant. Steps on samples without scores are simulated.
func (b *Bench) train(ctx context.Context, s setting) (*bench.Line, error) {
	t, l, err := b.begin(ctx, s)
	if t == nil {
		return l, err
	}
	specs := t.Specs
	if specs[0].Simulated() && (s.EvalEvery > 0 || !t.Config.Sampled()) {
		t.Config.Peer = runfolder.SwitchOff // simulated devices do not reach each other's memory
		specs = make([]devices.Spec, len(t.Specs))
		for i := range specs {
			specs[i] = devices.Spec{Label: strconv.Itoa(i), Slow: 1}
		}
		devices.ShareCores(specs, devices.Cores())
	}
	opened, err := devices.Open(specs)
	if err != nil {
		return nil, err
	}
	result, err := trainCached(ctx, t, opened, l)
	if err := errors.Join(err, devices.CloseAll(opened)); err != nil {
		return nil, err
	}
	counted(t, l)
	addResult(l, result)
	if moved := l.Series["halo_bytes"]; len(moved) > 1 {
		l.Values["halo_bytes"] = stat.Mean(moved[1:], nil)
	}
	return l, nil
}

// trainCached trains with the setting's caches and keeps the numbers of every epoch.
func trainCached(ctx context.Context, t *training.Run, devices []gpu.Device, l *bench.Line) (*pipeline.Result, error) {
	if t.Config.Sampled() {
		t.Devices = devices
		p, err := t.PlanSampled(ctx)
		if err != nil {
			return nil, err
		}
		for _, u := range p.Host.Uses[1:] { // the first is of the program and the data set
			l.Values["host_bytes"] += float64(u.Bound)
		}
		result, err := t.TrainSamples(ctx, func(e minibatch.EpochStats) {
			addEpoch(l, pipeline.EpochStats{Epoch: e.Epoch, Loss: e.Loss, Train: e.Train, Eval: e.Eval, Metrics: e.Metrics})
			addSteps(l, &e, t.Specs[0].Simulated())
		})
		if err == nil && result.Stopped == training.StoppedBySignal {
			err = context.Canceled
		}
		return result, err
	}
	opt := t.ProblemOptions()
	for p := range t.Workers() {
		opt.Devices = append(opt.Devices, devices[p%len(devices)])
	}
	var first gpu.Usage
	opt.OnEpoch = func(e pipeline.EpochStats) error {
		if e.Epoch == 0 {
			first = e.Usage
		}
		addEpoch(l, e)
		return nil
	}
	trainer, err := pipeline.New(ctx, t.Data.Problem, opt)
	if err != nil {
		return nil, term.AsUsage(training.Explain(err))
	}
	result, err := trainer.Run(ctx)
	if err := errors.Join(err, trainer.Close()); err != nil {
		return nil, training.Explain(err)
	}
	if result.Stopped == training.StoppedBySignal {
		return nil, context.Canceled
	}
	if n := result.Epochs - 1; n > 0 {
		u := result.Usage.Sub(first)
		addBytes(l, u.H2D/gpu.Bytes(n), u.D2H/gpu.Bytes(n), u.Peer/gpu.Bytes(n))
	}
	return result, nil
}

// addEpoch keeps an epoch.
func addEpoch(l *bench.Line, e pipeline.EpochStats) {
	add := func(name string, x float64) { l.Series[name] = append(l.Series[name], x) }
	add("loss", e.Loss)
	add("epoch_s", e.Train.Seconds())
	h := e.Halo.Bytes
	add("halo_bytes", float64(h.Total()))
	add("age", e.Halo.MeanAge())
	if e.Eval {
		add("eval_epoch", float64(e.Epoch+1))
		if e.Metrics.Train != nil {
			add("train", *e.Metrics.Train)
		}
		if e.Metrics.Val != nil {
			add("val", *e.Metrics.Val)
		}
		if e.Metrics.Test != nil {
			add("test", *e.Metrics.Test)
		}
	}
}

func sumOf(list []time.Duration) (all time.Duration) {
	for _, d := range list {
		all += d
	}
	return all
}

// addResult keeps what a run comes to.
func addResult(l *bench.Line, r *pipeline.Result) {
	set := func(name string, x float64) { l.Values[name] = x }
	for name, x := range map[string]*float64{"train": r.Best.Train, "val": r.Best.Val, "test": r.Best.Test} {
		if x != nil {
			set(name, *x)
		}
	}
	l.Text["metric"], l.Text["weights"] = r.MetricName, r.WeightsSHA
	set("epochs", float64(r.Epochs))
	set("final_loss", r.FinalLoss)
	set("best_epoch", float64(r.BestEpoch+1))
	if r.Switches > 0 {
		set("switch_share", r.SwitchTime.Seconds()/(r.SwitchTime+sumOf(r.EpochTime)).Seconds())
	}
	if len(r.EpochTime) > 1 {
		set("epoch_s", *runfolder.EpochSecondsOf(r.EpochTime[1:]).Median)
	}
	n := float64(max(1, r.Epochs)) * float64(max(1, len(r.PeakDevice)))
	per := func(d time.Duration) float64 { return d.Seconds() / n }
	set("aggregation_s", per(r.Usage.Time[gpu.PhaseAggregation]))
	set("mm_s", per(r.Usage.Time[gpu.PhaseMM]))
	set("wait_s", per(r.Usage.Time[gpu.PhaseWait]))
	set("communication_s", per(r.Usage.Time[gpu.PhaseTransfer]+r.Usage.Time[gpu.PhaseWait]))
	set("pick_s", per(r.Usage.Time[gpu.PhasePick]))
	set("other_s", per(r.Usage.Time[gpu.PhaseOther]))
	set("check_s", r.CheckCache.Seconds()/float64(max(1, r.Epochs)))
	set("spmm_entries", float64(r.Usage.SpMM)/float64(max(1, r.Epochs)))
	peak := gpu.Bytes(0)
	for _, p := range r.PeakDevice {
		peak += p
	}
	set("peak_bytes", float64(peak))
	set("coverage", r.Halo.Coverage())
	set("hit_rate", r.Halo.HitRate())
	set("mean_age", r.Halo.MeanAge())
	set("max_age", float64(r.Halo.AgeMax))
}
