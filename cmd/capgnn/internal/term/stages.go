package term

import (
	"time"

	"capgnn/internal/number"
)

// Stage is a part of what a command does before its first epoch.
type Stage int

// Stages in their order.
const (
	Reading   Stage = iota // of the data set
	Measuring              // of the devices
	Cutting                // the graph into parts that fit the devices
	Ordering               // of the rows in parts
	Checking               // of the memory that all of it takes
	Placing                // of the parts on the devices
	Stages                 // the number of stages
)

// approach shows how far a command has come on its way to the first epoch: one bar, with one time left, over all stages. What a
// stage takes is a guess until it is over: where one was wrong, the bar goes slower or faster, but neither does it go back nor
// does the time left grow. It belongs to the goroutine that began it.
type approach struct {
	bar    *Progress
	open   [Stages]time.Duration // that each stage will take from the end of its last round on
	rounds [Stages]int           // that a stage will have from there on: phases with a progress of their own
	at     Stage
	begun  time.Time     // of the approach
	since  time.Time     // of the stage or the round
	round  time.Duration // that the running round was to take in all; 0 = none runs
	done   float64       // share of the approach that was shown last
	left   time.Duration // that was shown last
}

// DetailColumns is how much is said of what is under way: the time left stands beside it on a line of 80 columns.
const DetailColumns = 34

// BeginStages begins the bar of a command. Until it arrives, phases that begin move that one.
func (k *Console) BeginStages(title string, expected [Stages]time.Duration) {
	a := &approach{bar: k.Begin(title, ProgressSteps, UnitShare, LinePause), open: expected, at: Stages}
	a.begun, a.since, a.left = a.bar.now(), a.bar.now(), sum(expected[:])
	a.bar.left = func() time.Duration { return a.left }
	k.approach = a
}

// EndStages ends the bar, if there is one.
func (k *Console) EndStages() {
	if k.approach != nil {
		k.approach.bar.End()
		k.approach = nil
	}
}

// Enter says which stage begins; the one before is over, and so are those that would have come before this one.
func (k *Console) Enter(s Stage) {
	a := k.approach
	if a == nil || a.at == s {
		return
	}
	if a.at < Stages {
		a.open[a.at] = 0
	}
	clear(a.open[:s])
	a.at, a.since, a.round = s, a.bar.now(), 0
	a.show(a.open[s], "")
}

// Expect says what a stage that is not over will take, and in how many rounds.
func (k *Console) Expect(s Stage, left time.Duration, rounds int) {
	if a := k.approach; a != nil {
		a.open[s], a.rounds[s] = left, rounds
	}
}

// phase begins a round of the stage.
func (a *approach) phase(title string, total int64) *Progress {
	if a.at < Stages {
		a.round = a.open[a.at] / time.Duration(max(1, a.rounds[a.at]))
		a.since = a.bar.now()
	}
	return &Progress{k: a.bar.k, title: title, total: max(1, total), approach: a}
}

// within says how far the round has come, between 0 and 1.
func (a *approach) within(share float64, detail string) {
	if a.at == Stages {
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
	if a.at == Stages {
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
	a.bar.At(int64(ProgressSteps*a.done), Cut(detail, DetailColumns))
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
