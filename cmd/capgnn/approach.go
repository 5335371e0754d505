package main

import (
	"time"

	"capgnn/internal/number"
)

// stage is a part of what a command does before its first epoch.
type stage int

const (
	reading   stage = iota // of the data set
	measuring              // of the devices
	cutting                // the graph into parts that fit the devices
	ordering               // of the rows in parts
	checking               // of the memory that all of it takes
	placing                // of the parts on the devices
	stages
)

// approach shows how far a command has come on its way to the first epoch: one bar, with one time left, over all stages. What a
// stage takes is a guess until it is over: where one was wrong, the bar goes slower or faster, but neither does it go back nor
// does the time left grow. It belongs to the goroutine that began it.
type approach struct {
	bar    *progress
	open   [stages]time.Duration // that each stage will take from the end of its last round on
	rounds [stages]int           // that a stage will have from there on: phases with a progress of their own
	at     stage
	begun  time.Time     // of the approach
	since  time.Time     // of the stage or the round
	round  time.Duration // that the running round was to take in all; 0 = none runs
	done   float64       // share of the approach that was shown last
	left   time.Duration // that was shown last
}

// detailColumns is how much is said of what is under way: the time left stands beside it on a line of 80 columns.
const detailColumns = 34

// beginStages begins the bar of a command. Until it arrives, phases that begin move that one.
func (k *console) beginStages(title string, expected [stages]time.Duration) {
	a := &approach{bar: k.begin(title, progressSteps, unitShare, between), open: expected, at: stages}
	a.begun, a.since, a.left = a.bar.now(), a.bar.now(), sum(expected[:])
	a.bar.left = func() time.Duration { return a.left }
	k.approach = a
}

// endStages ends the bar, if there is one.
func (k *console) endStages() {
	if k.approach != nil {
		k.approach.bar.end()
		k.approach = nil
	}
}

// enter says which stage begins; the one before is over, and so are those that would have come before this one.
func (k *console) enter(s stage) {
	a := k.approach
	if a == nil || a.at == s {
		return
	}
	if a.at < stages {
		a.open[a.at] = 0
	}
	clear(a.open[:s])
	a.at, a.since, a.round = s, a.bar.now(), 0
	a.show(a.open[s], "")
}

// expect says what a stage that is not over will take, and in how many rounds.
func (k *console) expect(s stage, left time.Duration, rounds int) {
	if a := k.approach; a != nil {
		a.open[s], a.rounds[s] = left, rounds
	}
}

// phase begins a round of the stage.
func (a *approach) phase(title string, total int64) *progress {
	if a.at < stages {
		a.round = a.open[a.at] / time.Duration(max(1, a.rounds[a.at]))
		a.since = a.bar.now()
	}
	return &progress{k: a.bar.k, title: title, total: max(1, total), approach: a}
}

// within says how far the round has come, between 0 and 1.
func (a *approach) within(share float64, detail string) {
	if a.at == stages {
		return
	}
	rest := time.Duration((1 - share) * float64(a.round))
	if took := a.bar.now().Sub(a.since); share > 0.05 { // that it takes longer than was thought can be told by now
		rest = max(rest, time.Duration(float64(took)*(1-share)/share))
	}
	a.show(a.open[a.at]-a.round+rest, detail)
}

// passed ends the round.
func (a *approach) passed() {
	if a.at == stages {
		return
	}
	a.open[a.at] -= a.round
	a.rounds[a.at]--
	a.round, a.since = 0, a.bar.now()
}

// show draws the bar; rest is what is left of the stage.
func (a *approach) show(rest time.Duration, detail string) {
	left := sum(a.open[:]) - a.open[a.at] + rest
	a.left = min(a.left, left)
	took := a.bar.now().Sub(a.begun)
	a.done = max(a.done, took.Seconds()/max(took+left, 1).Seconds())
	a.bar.at(int64(progressSteps*a.done), cut(detail, detailColumns))
}

func sum(durations []time.Duration) (total time.Duration) {
	for _, d := range durations {
		total += d
	}
	return total
}

// leftText says how long a phase will take from now on.
func leftText(d time.Duration) string {
	if d < time.Second/2 {
		return ""
	}
	return number.Coarse(d) + " left"
}

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

// beginStages begins the bar of a run.
func (t *training) beginStages(title string) {
	expected := [stages]time.Duration{reading: readTime, cutting: stageTime, checking: stageTime, placing: stageTime}
	if specs, err := parseDevices(t.cfg.Devices); err == nil && t.cfg.Profile == "" && !isAuto(t.cfg.Devices) && !alike(specs) && !specs[0].simulated() {
		expected[measuring] = measureTime * time.Duration(len(specs))
	}
	t.k.beginStages(title, expected)
	t.k.enter(reading)
}

// estimateStages says what the stages will take, once it is known how large the graph is.
func (t *training) estimateStages() {
	edges := time.Duration(t.data.problem.Graph.Edges())
	rounds := 0
	if t.parts > 1 {
		if rounds = 1; t.uneven() {
			rounds += fitRounds
		}
	}
	t.k.expect(cutting, time.Duration(rounds)*(stageTime+edges*cutTime), rounds)
	if t.cfg.Order != orderNone {
		t.k.expect(ordering, stageTime+edges*orderTime, 1)
	}
	t.k.expect(checking, stageTime+edges*layTime, 1)
	t.k.expect(placing, stageTime+edges*placeTime, 1)
}
