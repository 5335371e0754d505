package training

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
func (t *Run) BeginStages(title string) {
	expected := [term.Stages]time.Duration{term.Reading: readTime, term.Cutting: stageTime, term.Checking: stageTime, term.Placing: stageTime}
	if specs, err := devices.Parse(t.Config.Devices); err == nil && t.Config.Profile == "" && !devices.IsAuto(t.Config.Devices) && !devices.Alike(specs) && !specs[0].Simulated() {
		expected[term.Measuring] = devices.MeasureTime * time.Duration(len(specs))
	}
	t.Console.BeginStages(title, expected)
	t.Console.Enter(term.Reading)
}

// estimateStages says what the stages will take, once it is known how large the graph is.
func (t *Run) estimateStages() {
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
