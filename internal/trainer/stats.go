package trainer

import (
	"fmt"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/together"
	"capgnn/jaca"
	"capgnn/pipeline/chunks"
)

// Rows counts feature rows that steps read, each vertex once in a step of a part; with NoGather once in a unit.
type Rows struct {
	Read      int64 // = Local + Hit + Fetched
	Local     int64 // the vertex's home is the part
	Hit       int64 // it is another one, and the part's cache, or its device, has the row
	Fetched   int64 // the row came from its home
	Evicted   int64 // rows that left a cache
	Prefilled int64 // rows that came to a cache without being read in that step
}

// Brought is how many rows came from other parts.
func (r *Rows) Brought() int64 { return r.Fetched + r.Prefilled }

// Traffic is bytes between parts.
type Traffic struct {
	Rows      gpu.Bytes // fetched rows, and prefilled ones
	IDs       gpu.Bytes // of the rows that are asked for
	Gradients gpu.Bytes // gradients and new weights
	Carried   gpu.Bytes // with Hop: sums of gradients that models bring along
}

// Times are sums over parts. Sampling and staging overlap with the rest.
type Times struct {
	Sample  time.Duration // drawing blocks, those of steps that a policy looks ahead for, too
	Decide  time.Duration // which rows a cache has, which are fetched and kept; with waits for the steps ahead
	Fetch   time.Duration // getting rows whose home is another part, over links if any; Upload has what devices gather
	Stage   time.Duration // putting blocks, and rows that are at home, in the order that devices read
	Upload  time.Duration // copies to devices, and gathering rows that they keep
	Compute time.Duration // of devices, without waits and copies
	Wait    time.Duration // of compute queues, and of parts for their samplers
}

// Counts are the counts of some steps; those of several parts and of several steps add up. Of whole parts only Steps
// and CPU are counted.
type Counts struct {
	Steps    int   // as many as of one part
	Roots    int64 // over all parts
	Edges    int64 // sampled, loops that the model adds not counted
	Rows     Rows
	Requests int64 // of rows: one for each step, reader and home with rows that are fetched, in however many rounds
	Bytes    Traffic
	Time     Times
	CPU      time.Duration // processor time of this process, or of all ranks, everything included, in training
}

// Add adds what other steps, or the same steps of other parts, have done. Steps and CPU are left to the caller, who
// knows which it is.
func (c *Counts) Add(d *Counts) {
	c.Roots += d.Roots
	c.Edges += d.Edges
	c.Rows.Read += d.Rows.Read
	c.Rows.Local += d.Rows.Local
	c.Rows.Hit += d.Rows.Hit
	c.Rows.Fetched += d.Rows.Fetched
	c.Rows.Evicted += d.Rows.Evicted
	c.Rows.Prefilled += d.Rows.Prefilled
	c.Requests += d.Requests
	c.Bytes.Rows += d.Bytes.Rows
	c.Bytes.IDs += d.Bytes.IDs
	c.Bytes.Gradients += d.Bytes.Gradients
	c.Bytes.Carried += d.Bytes.Carried
	c.Time.Sample += d.Time.Sample
	c.Time.Decide += d.Time.Decide
	c.Time.Fetch += d.Time.Fetch
	c.Time.Stage += d.Time.Stage
	c.Time.Upload += d.Time.Upload
	c.Time.Compute += d.Time.Compute
	c.Time.Wait += d.Time.Wait
}

// EpochStats is one line of metrics.jsonl.
type EpochStats struct {
	Epoch int // 0-based
	// Loss is that of training: the mean over the epoch's targets, each before the update of its step.
	Loss float64
	Rate *float64 // learning rate by a schedule; nil: there is none
	// GradNorm is the norm of the gradient before it was clipped, mean over the steps; nil: nothing is clipped.
	GradNorm *float64
	Eval     bool // metrics were taken behind this epoch
	Metrics  learn.Metrics
	// Train is the wall time of the epoch without evaluation and checkpoints; on the devices' clock if they share one;
	// over ranks the longest.
	Train time.Duration
	EvalT time.Duration // wall time of the evaluation
	Counts
	Usage gpu.Usage   // of devices, summed over parts, training only
	Parts []gpu.Usage // the same by part
	// Gradients is the part of Usage that moves gradients and new weights between devices, sums gradients and takes
	// optimiser steps; zero with one part.
	Gradients gpu.Usage
	// Pairs is what ranks sent each other in training, including rows of steps ahead, by receiver and then by sender,
	// without pairs that sent nothing; nil: there is one process.
	Pairs    []together.Pair
	Meters   []gpu.Metered // what devices of all ranks consumed since the last reading; nil: not read
	Isolated *SuperEpoch   // the chunks of isolated parts; nil: parts are not isolated

	// Of whole parts:

	// Halo counts halo rows: lookups, hits, bytes by route and ages, over all parts and exchanges of training.
	Halo      jaca.Stats
	HaloParts []jaca.Stats // the same by part
	// CheckCache is the time in which workers look schedules and versions up, mean over parts.
	CheckCache time.Duration
	CheckParts []time.Duration // the same by part
	// Reduce is the time from the end of the last backward pass until all parts have the new weights: the rest of the
	// reduction, the optimiser step, and the broadcast. Over ranks the longest of them, including waits for others.
	Reduce time.Duration

	// Of samples:

	Work      []Counts // what of Counts each part did, but for Steps, CPU and what gradients take
	Slowest   int      // the part whose device computed longest
	TimeSteps int      // of each step: 1, or with Hop as many as parts, without those that were merged
}

// SuperEpoch describes the chunks that isolated parts trained on in an epoch.
type SuperEpoch struct {
	Shift    int // part i has held chunks i and (i + Shift) mod c
	Phases   int // of the epoch
	Switches int // how often what workers hold changed: before the epoch, and between its phases
	// Switch is the time of that, and Bytes what it copied from the host to devices. Neither is part of the epoch's
	// figures. Over ranks Switch is the longest, and Bytes the sum.
	Switch   time.Duration
	Bytes    gpu.Bytes
	Coverage chunks.Coverage // of all targets
}

// Totals is the sum over all epochs of a run, those before a resumption among them.
type Totals struct {
	Counts
	Usage      gpu.Usage // training only
	Gradients  gpu.Usage // of it, as in EpochStats
	Halo       jaca.Stats
	CheckCache time.Duration
	TrainTime  time.Duration
	EvalTime   time.Duration
	ReduceTime time.Duration
	// Switches counts changes of chunks, or of the parts of a worker, and SwitchTime is their time, which is in no
	// epoch's.
	Switches   int           `json:",omitempty"`
	SwitchTime time.Duration `json:",omitempty"`
	// Covered is the sum over epochs of what isolated parts' targets have seen of their in-neighbours.
	Covered float64 `json:",omitempty"`
	// Refilled is rows that resumed runs have fetched to fill their caches again; Rows and Bytes do not count them.
	Refilled int64 `json:",omitempty"`
}

func (t *Totals) add(e *EpochStats) {
	t.Counts.Add(&e.Counts)
	t.Steps, t.CPU = t.Steps+e.Steps, t.CPU+e.CPU
	t.Usage, t.Gradients = t.Usage.Add(e.Usage), t.Gradients.Add(e.Gradients)
	t.Halo.Add(e.Halo)
	t.CheckCache += e.CheckCache
	t.TrainTime, t.ReduceTime = t.TrainTime+e.Train, t.ReduceTime+e.Reduce
	if s := e.Isolated; s != nil {
		t.Switches, t.SwitchTime, t.Covered = t.Switches+s.Switches, t.SwitchTime+s.Switch, t.Covered+s.Coverage.Ratio
	}
}

// Result is the outcome of a run.
type Result struct {
	Epochs     int // epochs done in all, resumed ones included
	FinalLoss  float64
	Best       learn.Metrics   // at BestEpoch
	Last       learn.Metrics   // at the last evaluation
	BestEpoch  int             // epoch of the best validation metric (the last without validation), -1: never evaluated
	MetricName string          // a learn.Metric that the problem has
	Stopped    string          // "", "patience" or "interrupted"
	EpochTime  []time.Duration // of the whole epochs since the run was resumed, if it was
	Totals
	PeakHost    gpu.Bytes    // of the process with most
	PeakDevice  []gpu.Bytes  // by part
	WeightsSHA  string       // hex SHA-256, see gnn.Weights.SHA256
	Weights     *gnn.Weights // last weights
	BestWeights *gnn.Weights // weights at BestEpoch

	// Of whole parts: Caches is of training, nil: none. HaloRows is Σ_i |H_i| of what training exchanges: without
	// replicas that are dropped, which evaluation still reads. HaloPairs is the same from part to part: [i][j] are the
	// rows of part j that part i reads; nil beyond pipeline.MaxPairParts.
	Caches    *jaca.Plan
	HaloRows  int64
	HaloPairs [][]int64
	// Merged is of samples, with Hop and merging: what Sampling.Merged has to be for a run to repeat this one.
	Merged *int
}

// Diverged says that the training loss became NaN or infinite, and of whole parts where that began. The weights after
// that step are useless; the last checkpoint is from before.
type Diverged struct {
	Epoch, Step int
	Loss        float64 // NaN or infinite
	Layer       int     // first layer whose output holds a NaN or an infinity; the last if none of the hidden ones does
	Part        int
	Device      string // empty: it is not known where it began
}

func (e *Diverged) Error() string {
	what := fmt.Sprintf("loss of step %d is %v", e.Step, e.Loss)
	if e.Device != "" {
		what = fmt.Sprintf("loss is %v: it began in the output of layer %d (part %d, %s)",
			e.Loss, e.Layer, e.Part, e.Device)
	}
	return fmt.Sprintf("epoch %d: %s: try a lower learning rate, or look for extreme features or edge weights",
		e.Epoch, what)
}
