package runfolder

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/number"
	"capgnn/internal/runfile"
	"capgnn/jaca"
	"capgnn/pipeline"
)

// Result is what a run leaves in result.json, and what else its table says.
type Result struct {
	runfile.Result
	drawn, how string // of sampled training: how many neighbours were drawn, and how rows came; "": not known
}

// NewResult describes a finished run.
func NewResult(cfg *Config, dataset string, devices []devices.Spec, parts int, d Dir, r *pipeline.Result) *Result {
	out := &Result{Result: runfile.Result{
		Dataset: dataset, Model: cfg.ModelName(), Parts: parts, Epochs: r.Epochs, Seed: cfg.Seed,
		FinalLoss: runfile.Loss(math.NaN()), Train: r.Best.Train, Val: r.Best.Val, Test: r.Best.Test, TestLast: r.Last.Test,
		Metric: r.MetricName, Estimated: r.Best.Estimated, EpochS: EpochSecondsOf(r.EpochTime), Bytes: bytesOf(r.Usage),
		HaloRows: r.HaloRows, HaloPairs: r.HaloPairs, PeakBytes: runfile.PeakBytes{Host: int64(r.PeakHost)},
		SHA256: r.WeightsSHA, RunDir: string(d), Build: runfile.Build(term.ReadBuildInfo()),
	}}
	out.Bytes.Refresh, out.Bytes.Gradients = int64(r.Halo.Bytes.Refresh), moved(r.Gradients)
	for _, n := range r.PeakDevice[:min(len(devices), len(r.PeakDevice))] {
		out.PeakBytes.Devices = append(out.PeakBytes.Devices, int64(n))
	}
	for _, spec := range devices {
		out.Simulated = spec.Simulated()
		out.Devices = append(out.Devices, spec.String())
	}
	if r.Epochs > 0 {
		out.FinalLoss = runfile.Loss(r.FinalLoss)
	}
	if r.BestEpoch >= 0 {
		out.BestEpoch = &r.BestEpoch
	}
	if b := r.Best.ByClass; b != nil {
		for _, s := range b.Scores() {
			out.ByClass = append(out.ByClass, runfile.ClassScore(s))
		}
		if b.Confusion != nil {
			out.Confusion = &runfile.Confusion{Classes: b.Largest, Counts: b.Confusion}
		}
	}
	policy := cfg.Cache
	if cfg.Sampled() {
		policy = string(jaca.None)
	}
	out.Cache = runfile.RunCache{Cache: cacheOf(policy, r.Halo), Capacity: (*runfile.Capacity)(CapacityOf(r.Caches))}
	out.Staleness.Staleness = runfile.Staleness{Bound: cfg.Staleness, MaxSeen: r.Halo.AgeMax, Mean: r.Halo.MeanAge()}
	out.Isolated = isolatedOf(cfg, r)
	p, n := phasesOf(r.Usage), float64(max(1, cfg.WorkersOf(parts)))
	out.TimeS = runfile.RunSeconds{
		Aggregation: p.Aggregation / n, MM: p.MM / n, Wait: p.Wait / n, Transfer: p.Transfer / n,
		Reduce: r.ReduceTime.Seconds(), Eval: r.EvalTime.Seconds(), CPU: r.CPU.Seconds(), Check: r.CheckCache.Seconds(),
		Pick: p.Pick / n, Other: p.Other / n,
	}
	return out
}

// EpochSecondsOf summarises epoch times; all null without epochs.
func EpochSecondsOf(times []time.Duration) runfile.EpochSeconds {
	n := len(times)
	if n == 0 {
		return runfile.EpochSeconds{}
	}
	sorted := slices.Sorted(slices.Values(times))
	sum := time.Duration(0)
	for _, t := range sorted {
		sum += t
	}
	median := (sorted[(n-1)/2] + sorted[n/2]).Seconds() / 2
	mean, least := sum.Seconds()/float64(n), sorted[0].Seconds()
	return runfile.EpochSeconds{Median: &median, Mean: &mean, Min: &least}
}

// Print writes the result: one JSON line, or a small table.
func (r *Result) Print(k *term.Console) error {
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(r)
	}
	return r.table(k.Out)
}

// scoreName is what a score is called: the metric, the positive class if it is of one, and whether it is an estimate.
func scoreName(metric, positive string, estimated bool) string {
	if positive != "" {
		metric += " of " + positive
	}
	if estimated {
		metric += ", estimated"
	}
	return metric
}

func (r *Result) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	const names = 12 // columns of the names of most rows
	row := func(name, format string, a ...any) {
		for _, line := range term.Folded(fmt.Sprintf(format, a...), term.Columns-names) {
			term.Row(t, name, line)
			name = ""
		}
	}
	row("dataset", "%s", r.Dataset)
	row("model", "%s", r.Model)
	if r.Classes != nil {
		row("classes", "%s", term.NamesOf(r.Classes))
	}
	row("devices", "%s (%s)", strings.Join(r.Devices, " "), term.Counted(r.Parts, "part"))
	best := ""
	if r.BestEpoch != nil {
		best = fmt.Sprintf(", best %d", *r.BestEpoch)
	}
	row("epochs", "%d%s", r.Epochs, best)
	row("loss", "%s", number.Plain.Text(float64(r.FinalLoss)))
	row(scoreName(r.Metric, r.Positive, r.Estimated), "train %s  val %s  test %s  (test at the end %s)", term.Score(r.Train), term.Score(r.Val), term.Score(r.Test), term.Score(r.TestLast))
	simulated := ""
	if r.Simulated {
		simulated = "simulated: "
	}
	row("epoch", simulated+"median %s  mean %s  min %s", term.Duration(r.EpochS.Median), term.Duration(r.EpochS.Mean), term.Duration(r.EpochS.Min))
	var times []string
	for _, x := range []struct {
		name    string
		seconds float64
	}{{"start", r.TimeS.Start}, {"aggregation", r.TimeS.Aggregation}, {"dense products", r.TimeS.MM}, {"waiting", r.TimeS.Wait}, {"transfer", r.TimeS.Transfer},
		{"reduction", r.TimeS.Reduce}, {"packing rows", r.TimeS.Pick}, {"evaluation", r.TimeS.Eval}, {"other", r.TimeS.Other}} {
		if x.seconds > 0 {
			times = append(times, x.name+" "+term.Duration(&x.seconds))
		}
	}
	if len(times) > 0 {
		row("time", "%s", strings.Join(times, "  "))
	}
	halo := ""
	if r.Sampling == nil {
		halo = fmt.Sprintf("  (%s halo rows)", term.Grouped(r.HaloRows))
	}
	row("traffic", "%s down  %s up  %s peer%s", term.Size(r.Bytes.D2H), term.Size(r.Bytes.H2D), term.Size(r.Bytes.Peer), halo)
	if r.Bytes.Gradients > 0 {
		row("", "%s of it gradients and weights", term.Size(r.Bytes.Gradients))
	}
	if i := r.Isolated; i != nil {
		row("isolated", "%s", isolatedText(i))
	}
	if r.Sampling != nil {
		for i, line := range r.samplingLines() {
			row([]string{"sampling", ""}[min(i, 1)], "%s", line)
		}
	}
	if len(r.Pairs) > 0 {
		row("machines", "%s", r.betweenRanks())
	}
	if c := &r.Cache; c.Coverage > 0 {
		found := func(n int64) string { return term.Percentage(float64(n) / float64(max(1, c.Lookups))) }
		row("cache", "%s: %s of reads have a slot, %s hit in device memory, %s in host memory (%s)", c.Policy, term.Percentage(c.Coverage),
			found(c.LocalHits), found(c.GlobalHits), (*Capacity)(c.Capacity))
	}
	if s := &r.Staleness; s.MaxSeen > 0 {
		row("staleness", "rows up to %s old, mean %s, bound %d", term.Counted(s.MaxSeen, "epoch"), number.Ratio.Text(s.Mean), s.Bound)
	}
	peaks := make([]string, len(r.PeakBytes.Devices))
	for i, b := range r.PeakBytes.Devices {
		peaks[i] = term.Size(b)
	}
	row("memory", "host %s  devices %s", term.Size(r.PeakBytes.Host), strings.Join(peaks, " "))
	term.Row(t, "weights", "sha256 "+r.SHA256)
	page := ""
	if report := Dir(r.RunDir).Report(); term.Exists(report) {
		page = fmt.Sprintf(" (%s in it is for a browser)", filepath.Base(report))
	}
	term.Row(t, "run folder", r.RunDir+page)
	return t.Flush()
}
