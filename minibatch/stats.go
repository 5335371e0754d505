package minibatch

import (
	"time"

	"capgnn/chunks"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/together"
)

// Progress is the state of a run after a step.
type Progress struct {
	Epoch       int           // 0-based
	Step, Steps int           // of the epoch: done, and in all
	Edges       int64         // sampled for the first part in the epoch, since the run was resumed if that was inside it
	Elapsed     time.Duration // since the epoch began, or the run was resumed inside it
	Since       int           // the first step that Edges and Elapsed are of
}

// Rows counts feature rows that steps read, each vertex once in a step of a part; with NoGather once in a unit.
type Rows struct {
	Read      int64 // = Local + Hit + Fetched
	Local     int64 // the vertex's home is the part
	Hit       int64 // it is another one, and the part's cache, or its device, has the row
	Fetched   int64 // the row came from its home
	Evicted   int64 // rows that left a cache
	Prefilled int64 // rows that came to a cache without being read in that step
}

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
	Fetch   time.Duration // getting rows whose home is another part, over links if there are any; where devices gather rows themselves, Upload has it
	Stage   time.Duration // putting blocks, and rows that are at home, in the order that devices read
	Upload  time.Duration // copies to devices, and gathering rows that they keep
	Compute time.Duration // of devices, without waits and copies
	Wait    time.Duration // of compute queues, and of parts for their samplers
}

// Counts are the counts of some steps; those of several parts and of several steps add up.
type Counts struct {
	Steps    int   // as many as of one part
	Roots    int64 // over all parts
	Edges    int64 // sampled, loops that the model adds not counted
	Rows     Rows
	Requests int64 // of rows: one for each step, reader and home with rows that are fetched, in however many rounds they come
	Bytes    Traffic
	Time     Times
	CPU      time.Duration // processor time of this process, or of all ranks, everything included
}

// EpochStats is one line of metrics.jsonl.
type EpochStats struct {
	Epoch int      // 0-based
	Loss  float64  // mean over the epoch's roots, each before the update of its step
	Rate  *float64 // learning rate by a schedule; nil: there is none
	// GradNorm is the norm of the gradient before it was clipped, mean over the steps of the epoch; nil: nothing is clipped.
	GradNorm *float64
	Eval     bool // metrics were taken behind this epoch
	Metrics  learn.Metrics
	Train    time.Duration // wall time of the epoch without evaluation and checkpoints
	EvalT    time.Duration // wall time of the evaluation
	Counts
	Usage gpu.Usage   // of devices, summed over parts, training only
	Parts []gpu.Usage // the same by part
	Work  []Counts    // what of Counts each part did, but for Steps, CPU and what gradients take
	// Gradients is the part of Usage that moves gradients and new weights between devices, sums gradients and takes
	// optimiser steps.
	Gradients gpu.Usage
	Slowest   int // the part whose device computed longest
	// Pairs is what ranks sent each other, including rows of steps ahead, without evaluation; nil: there is one
	// process.
	Pairs     []together.Pair
	Meters    []gpu.Metered // what devices of all ranks have taken since they were read before; nil: they were not read
	TimeSteps int           // of each step: 1, or with Hop as many as parts, without those that were merged
	Isolated  *SuperEpoch
}

// SuperEpoch describes the chunks that isolated parts trained on in an epoch.
type SuperEpoch struct {
	Shift    int // part i has held chunks i and (i + Shift) mod c
	Phases   int // of the epoch
	Switches int // how often what workers hold changed: before the epoch, and between its phases
	// Switch is the time of that, which is not in the epoch's; over ranks the longest.
	Switch   time.Duration
	Coverage chunks.Coverage // of all targets
}

// Totals is the sum over all epochs of a run, those before a resumption among them.
type Totals struct {
	Counts
	Usage     gpu.Usage
	Gradients gpu.Usage
	TrainTime time.Duration
	EvalTime  time.Duration
	// Of isolated parts: sums over epochs, of Coverage.Ratio too.
	Switches   int           `json:",omitempty"`
	SwitchTime time.Duration `json:",omitempty"`
	Covered    float64       `json:",omitempty"`
	Refilled   int64         // rows that resumed runs have fetched to fill their caches again; Rows and Bytes do not count them
}

// Result is the outcome of a run.
type Result struct {
	Epochs     int // epochs done in all, resumed ones included
	FinalLoss  float64
	Best       learn.Metrics   // at BestEpoch
	Last       learn.Metrics   // at the last evaluation
	BestEpoch  int             // epoch of the best validation metric (the last one without validation), -1: never evaluated
	MetricName string          // a learn.Metric that the problem has
	Stopped    string          // "", "patience" or "interrupted"
	EpochTime  []time.Duration // of the whole epochs since the run was resumed, if it was
	Merged     *int            // with Hop and merging: what Sampling.Merged has to be for a run to repeat this one
	Totals
	PeakHost    gpu.Bytes
	PeakDevice  []gpu.Bytes  // by part
	WeightsSHA  string       // hex SHA-256, see gnn.Weights.SHA256
	Weights     *gnn.Weights // last weights
	BestWeights *gnn.Weights // weights at BestEpoch
}

// Add adds what other steps, or the same steps of other parts, have done. Steps and CPU are left to the caller, who knows which it is.
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
