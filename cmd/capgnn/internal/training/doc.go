// Package training is one run from its settings to its result: it reads the data, chooses devices, cuts the graph for
// them, settles caches and the order of vertices, refuses what does not fit, trains, and writes the run folder.
//
// A Run takes the steps. It embeds what they change: Input, what it is given; Where, what computes it; Decisions, its
// settings with all that is settled; Folder, the run folder; Live, what it shows and measures. Deciders are functions
// that get these by value and return Decisions. A Forecaster says by simulation what an epoch would take (Outlook,
// Subset, MachinePlan), a Planner what memory (MemoryPlan, SampledPlan); both are copied to ask about other decisions.
//
// # Contract
//
// Do takes the steps in order (Steps) and trains. Commands that do less (plan, partition, predict, bench) take steps
// that they need, in the same order. All ranks take each step, and rank 0 decides for all. Steps before training change
// nothing but the cache, so an interruption before the first epoch leaves nothing behind. Every decision that came from
// a measurement is recorded in the settings or the plan, so a repeated or resumed run has the same bits. The folder is
// locked as long as a process writes to it, and goes again if nothing was written.
//
// It decides; what it decides on is measured by package devices and computed by rapa and pipeline. It imports the rooms
// datasets, runfolder, diskcache, devices and term. Begin with run.go and steps.go, then divide.go and memory.go.
//
//	t := training.New(k, "train", cfg)
//	result, err := t.Do(ctx)
package training
