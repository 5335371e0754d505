package main

import (
	"time"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/rapa/balance"
)

// What a run does before its first epoch takes about so long on a core; how long in truth depends on the graph and on what else
// the machine does. Only the pace of the bar depends on it.
const (
	stageTime = time.Second / 2 // of every round of a stage, beside what takes time for an edge
	readTime  = 2 * time.Second // before it is known what is read
	cutTime   = time.Microsecond
	orderTime = 200 * time.Nanosecond
	layTime   = 100 * time.Nanosecond
	placeTime = 500 * time.Nanosecond
)

// BeginStages begins the bar of a run.
func (t *training) beginStages(title string) {
	expected := [term.Stages]time.Duration{term.Reading: readTime, term.Cutting: stageTime, term.Checking: stageTime, term.Placing: stageTime}
	if specs, err := devices.Parse(t.cfg.Devices); err == nil && t.cfg.Profile == "" && !devices.IsAuto(t.cfg.Devices) && !devices.Alike(specs) && !specs[0].Simulated() {
		expected[term.Measuring] = devices.MeasureTime * time.Duration(len(specs))
	}
	t.k.BeginStages(title, expected)
	t.k.Enter(term.Reading)
}

// estimateStages says what the stages will take, once it is known how large the graph is.
func (t *training) estimateStages() {
	edges := time.Duration(t.data.Problem.Graph.Edges())
	rounds := 0
	if t.parts > 1 {
		if rounds = 1; t.uneven() {
			rounds += balance.Recuts
		}
	}
	t.k.Expect(term.Cutting, time.Duration(rounds)*(stageTime+edges*cutTime), rounds)
	if t.cfg.Order != runfolder.OrderNone {
		t.k.Expect(term.Ordering, stageTime+edges*orderTime, 1)
	}
	t.k.Expect(term.Checking, stageTime+edges*layTime, 1)
	t.k.Expect(term.Placing, stageTime+edges*placeTime, 1)
}
