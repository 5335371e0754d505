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
	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/number"
	"capgnn/jaca"
	"capgnn/pipeline"
)

// Result is the object that `train --json` prints as its last line and that result.json holds. Fractions are in
// [0, 1], times in seconds; null = empty.
type Result struct {
	Dataset   string    `json:"dataset"`
	Model     string    `json:"model"`
	Devices   []string  `json:"devices"`   // specs with everything said, in the order of --devices
	Simulated bool      `json:"simulated"` // times are of a clock of simulated devices
	Parts     int       `json:"parts"`
	Order     string    `json:"order"`
	Storage   string    `json:"storage"`
	Epochs    int       `json:"epochs"` // done, resumed ones included
	Seed      uint64    `json:"seed"`
	FinalLoss lossValue `json:"final_loss"` // of the last epoch, before its update
	Train     *float64  `json:"train"`      // at best_epoch
	Val       *float64  `json:"val"`
	Test      *float64  `json:"test"`
	TestLast  *float64  `json:"test_last"`
	BestEpoch *int      `json:"best_epoch"` // from 0 on
	Metric    string    `json:"metric"`
	Estimated bool      `json:"estimated,omitempty"`   // scores are of samples of neighbours
	Positive  string    `json:"positive,omitempty"`    // class of which Metric is, of two
	Several   bool      `json:"multi_label,omitempty"` // vertices have several labels, by another metric than micro-f1, which says so itself
	Classes   []string  `json:"class_names"`           // null: only their numbers are known
	// How the test split was predicted at best_epoch; left out where it is empty, or there are too many classes.
	ByClass   []learn.ClassScore `json:"test_by_class,omitempty"`
	Confusion *confusion         `json:"test_confusion,omitempty"` // left out of multi-label data
	Data      *DataShape         `json:"data,omitempty"`           // left out where the data set is in shards
	EpochS    epochSeconds       `json:"epoch_s"`
	TimeS     runSeconds         `json:"time_s"`
	Bytes     epochBytes         `json:"bytes"`
	Cache     runCache           `json:"cache"`
	Staleness runStaleness       `json:"staleness"`
	HaloRows  int64              `json:"halo_rows"`
	HaloPairs [][]int64          `json:"halo_pairs"`         // [i][j]: rows of part j that part i reads; null beyond pipeline.MaxPairParts parts
	Hosts     []string           `json:"hosts,omitempty"`    // by rank; left out where there was one process
	Pairs     []RankTraffic      `json:"pairs,omitempty"`    // between ranks, over all epochs
	Isolated  *runIsolated       `json:"isolated,omitempty"` // left out of runs whose parts exchange rows
	Sampling  *runSampling       `json:"sampling,omitempty"` // left out of full-batch runs
	Meters    []gpu.Metered      `json:"meters,omitempty"`   // over all epochs; left out where there are no meters
	PeakBytes peakBytes          `json:"peak_bytes"`
	SHA256    string             `json:"weights_sha256"`
	RunDir    string             `json:"run_dir"`
	Build     term.BuildInfo     `json:"build"` // of the program that trained
}

// confusion is how many test vertices of one class were predicted to be of another, of the learn.MaxConfusion largest classes.
type confusion struct {
	Classes []int   `json:"classes"`
	Counts  [][]int `json:"counts"` // [i][j]: vertices of Classes[i] predicted to be of Classes[j]
}

// DataShape is what the data set looks like.
type DataShape struct {
	Degrees []int            `json:"in_degrees"`            // vertices with 0, 1, 2–3, 4–7, … in-neighbours
	Classes map[string][]int `json:"class_sizes,omitempty"` // by split, and of "none" of them: vertices of each class; left out above learn.MaxClasses
}

// runStaleness is how old the rows were that a run used, and why.
type runStaleness struct {
	staleUse
	Forecast *StaleForecast `json:"forecast"` // by which layers were chosen; null: no forecast was made, or in the part of the run before it was resumed
}

// epochSeconds is the wall time of epochs without their evaluation.
type epochSeconds struct {
	Median *float64 `json:"median"`
	Mean   *float64 `json:"mean"`
	Min    *float64 `json:"min"`
}

// runSeconds is where the time of all epochs went. Phases of the queues are means over the parts; reduce (gradient
// reduction, optimiser step, broadcast) and eval are wall time.
type runSeconds struct {
	Start       float64 `json:"start"` // from the start of the program to the first epoch
	Aggregation float64 `json:"aggregation"`
	MM          float64 `json:"mm"`
	Wait        float64 `json:"communication_wait"`
	Transfer    float64 `json:"communication_transfer"`
	Reduce      float64 `json:"reduce"`
	Eval        float64 `json:"eval"`
	CPU         float64 `json:"cpu"`         // processor time of training, of all processes
	Check       float64 `json:"check_cache"` // on the host: schedules and versions are looked up
	Pick        float64 `json:"pick_cache"`  // rows that others read are put together
	Other       float64 `json:"other"`
	Order       float64 `json:"order"` // finding and measuring the order of the vertices, once per data set
}

type peakBytes struct {
	Host    gpu.Bytes   `json:"host"`
	Devices []gpu.Bytes `json:"devices"`
}

// NewResult describes a finished run.
func NewResult(cfg *Config, dataset string, devices []devices.Spec, parts int, d Dir, r *pipeline.Result) *Result {
	out := &Result{
		Dataset: dataset, Model: cfg.Model, Parts: parts, Epochs: r.Epochs, Seed: cfg.Seed,
		FinalLoss: lossValue(math.NaN()), Train: r.Best.Train, Val: r.Best.Val, Test: r.Best.Test, TestLast: r.Last.Test,
		Metric: r.MetricName, Estimated: r.Best.Estimated, EpochS: EpochSecondsOf(r.EpochTime), Bytes: epochBytes{routeBytes: routeBytesOf(r.Usage), Refresh: r.Halo.Bytes.Refresh, Gradients: moved(r.Gradients)}, HaloRows: r.HaloRows, HaloPairs: r.HaloPairs,
		PeakBytes: peakBytes{Host: r.PeakHost, Devices: r.PeakDevice[:min(len(devices), len(r.PeakDevice))]}, SHA256: r.WeightsSHA, RunDir: string(d), Build: term.ReadBuildInfo(),
	}
	for _, spec := range devices {
		out.Simulated = spec.Simulated()
		out.Devices = append(out.Devices, spec.String())
	}
	if r.Epochs > 0 {
		out.FinalLoss = lossValue(r.FinalLoss)
	}
	if r.BestEpoch >= 0 {
		out.BestEpoch = &r.BestEpoch
	}
	if b := r.Best.ByClass; b != nil {
		if out.ByClass = b.Scores(); b.Confusion != nil {
			out.Confusion = &confusion{b.Largest, b.Confusion}
		}
	}
	policy := cfg.Cache
	if cfg.Sampled() {
		policy = string(jaca.None)
	}
	out.Cache, out.Staleness = runCache{cacheUseOf(policy, r.Halo), CapacityOf(r.Caches)}, runStaleness{staleUse: staleUse{Bound: cfg.Staleness, MaxSeen: r.Halo.AgeMax, Mean: r.Halo.MeanAge()}}
	out.Isolated = isolatedOf(cfg, r)
	p, n := phaseTimesOf(r.Usage), float64(max(1, cfg.WorkersOf(parts)))
	out.TimeS = runSeconds{
		Aggregation: p.Aggregation / n, MM: p.MM / n, Wait: p.Wait / n, Transfer: p.Transfer / n,
		Reduce: r.ReduceTime.Seconds(), Eval: r.EvalTime.Seconds(), CPU: r.CPU.Seconds(), Check: r.CheckCache.Seconds(),
		Pick: p.Pick / n, Other: p.Other / n,
	}
	return out
}

// EpochSecondsOf summarises epoch times; all null without epochs.
func EpochSecondsOf(times []time.Duration) epochSeconds {
	n := len(times)
	if n == 0 {
		return epochSeconds{}
	}
	sorted := slices.Sorted(slices.Values(times))
	sum := time.Duration(0)
	for _, t := range sorted {
		sum += t
	}
	median := (sorted[(n-1)/2] + sorted[n/2]).Seconds() / 2
	mean, least := sum.Seconds()/float64(n), sorted[0].Seconds()
	return epochSeconds{Median: &median, Mean: &mean, Min: &least}
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
	row := func(name, format string, a ...any) { term.Row(t, name, fmt.Sprintf(format, a...)) }
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
	for i, line := range slices.Collect(slices.Chunk(times, 3)) { // as many as 80 columns hold
		name := "time"
		if i > 0 {
			name = ""
		}
		row(name, "%s", strings.Join(line, "  "))
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
		row("isolated", "%s", i)
	}
	if s := r.Sampling; s != nil {
		for i, line := range s.lines() {
			row([]string{"sampling", ""}[min(i, 1)], "%s", line)
		}
	}
	if len(r.Pairs) > 0 {
		row("machines", "%s", r.betweenRanks())
	}
	if c := &r.Cache; c.Coverage > 0 {
		row("cache", "%s: %s of reads have a slot, %s hit in device memory, %s in host memory (%s)", c.Policy, term.Percentage(c.Coverage),
			term.Percentage(c.share(c.LocalHits)), term.Percentage(c.share(c.GlobalHits)), c.Capacity)
	}
	if s := &r.Staleness; s.MaxSeen > 0 {
		row("staleness", "%s", s)
	}
	peaks := make([]string, len(r.PeakBytes.Devices))
	for i, b := range r.PeakBytes.Devices {
		peaks[i] = term.Size(b)
	}
	row("memory", "host %s  devices %s", term.Size(r.PeakBytes.Host), strings.Join(peaks, " "))
	row("weights", "sha256 %s", r.SHA256)
	page := ""
	if report := Dir(r.RunDir).Report(); term.Exists(report) {
		page = fmt.Sprintf(" (%s in it is for a browser)", filepath.Base(report))
	}
	row("run folder", "%s%s", r.RunDir, page)
	return t.Flush()
}
