// Package training is one run from its settings to its result: it reads the data, chooses devices, cuts the graph for them,
// settles caches and the order of vertices, refuses what does not fit, trains, and writes the run folder.
//
// Its nouns: a Run, what is set at the start and what each step adds; a plan (package rapa), the parts of the graph, made for the
// devices, recalled from the cache or taken from a file; an Outlook, what an epoch would take on some devices, told by
// simulating one; a MemoryPlan, the blocks that a run would ask for on every device; a Subset, what some of the devices would
// take.
//
// # Contract
//
// Do takes the steps in order (Preparations) and trains. Commands that do less (plan, partition, predict, bench) take the
// steps that they need, in the same order. Steps before training change nothing but the cache, so an interruption before the
// first epoch leaves nothing behind. Every decision that came from a measurement is recorded in the settings or the plan, so
// a repeated or resumed run has the same bits. A run folder is locked as long as a process writes to it, and goes again if
// nothing was written.
//
// It decides; what it decides on is measured by package devices and computed by rapa and pipeline. It imports the rooms
// datasets, runfolder, diskcache, devices and term. Begin with training.go, then divide.go and memory_plan.go.
//
//	t := &training.Run{Console: k, Config: cfg}
//	result, err := t.Do(ctx)
package training
