package jaca

import (
	"math"
	"slices"
)

// Dates of probes: in the epochs of earlyProbes, as gradients change most at first, then every probeEvery. A probe takes about as long as one more
// epoch, so they take 4 % of the time.
const probeEvery = 25

var earlyProbes = [...]int{5, 10, 20}

// Steps of a Ladder's decisions.
const (
	// quietHarm is the share of the noise up to which harm lets the level rise.
	quietHarm = 0.5
	// roughDiffs is over how many differences of losses roughness is measured, and mostRough how often it may be that before the level rose.
	roughDiffs = 10
	mostRough  = 2
)

// FreshEpochs is how many epochs at first a Ladder uses rows of their own epoch: the last of them begins the schedule of its first level with stale rows.
const FreshEpochs = 7

// FirstPeriod is the refresh period of a Ladder's first level with stale rows.
const FirstPeriod = 8

// rungs are the refresh periods of a Ladder's levels. Level 0 uses every row in the epoch that made it, the others from the epoch behind it on.
var rungs = [...]int{1, FirstPeriod, MaxStaleness}

// Harm says what stale rows do to the gradient of one layer's weights in an epoch, g_s beside g_f with fresh rows, and how much that gradient changes
// without them. Where g_f is 0 the least positive float32 is in the place of its norm.
type Harm struct {
	Layer int
	Rho   float64 // ‖g_s − g_f‖ / ‖g_f‖
	Noise float64 // ‖g_f − g‖ / (√2·‖g_f‖), g of the epoch before
}

// HarmSums is what a Harm is made of, summed over elements of weights in their order. The zero value is that of none.
type HarmSums struct{ harm, noise, norm float64 } // squares

// Add takes gradients of further elements: of this epoch with stale and with fresh rows, and that of the epoch before.
func (h *HarmSums) Add(stale, fresh, before []float32) {
	for i, f := range fresh {
		x, s, b := float64(f), float64(stale[i]), float64(before[i])
		h.harm, h.noise, h.norm = h.harm+(s-x)*(s-x), h.noise+(x-b)*(x-b), h.norm+x*x
	}
}

// Of returns the Harm of a layer whose elements have been added.
func (h *HarmSums) Of(layer int) Harm {
	least := float64(math.SmallestNonzeroFloat32)
	relative := func(square float64) float64 { return math.Sqrt(square / max(h.norm, least*least)) }
	return Harm{Layer: layer, Rho: relative(h.harm), Noise: relative(h.noise / 2)}
}

// Ladder chooses one refresh period for all layers whose rows age, by the harm that stale rows do to gradients (--staleness auto).
//
// Its levels are rungs: it begins at level 0, with fresh rows. In the epochs of probes the run computes gradients with stale and with fresh rows. The
// level rises one step while in every layer harm is at most half of the noise, and falls one step where harm exceeds it. It also falls where the loss gets
// rough within 25 epochs behind a rise: the standard deviation of its last 10 differences is more than twice what it was before. At level 0 no row is
// stale, so nothing can be measured, and the next level is tried. A level that fell is tried again after 25 epochs, and after twice as many each
// time that it falls again; what is tried is probed once all its rows have reached their ages, if no probe comes before. So where staleness harms nearly all
// epochs have fresh rows.
//
// A Ladder is a function of what it observes, in order.
type Ladder struct{ s ladderState }

// ladderState is a ladder in a checkpoint.
type ladderState struct {
	Level  int       `json:"level"`
	Start  int       `json:"start"`  // of the level's schedule
	Since  int       `json:"since"`  // epoch from which on the level holds
	Next   int       `json:"next"`   // epoch of the next probe; at level 0, behind which the next level is tried
	Losses []float64 `json:"losses"` // of the newest epochs
	Rungs  []rung    `json:"rungs"`
}

// rung is what a ladder remembers of a level.
type rung struct {
	Rough float64 `json:"rough"` // deviation of the differences of losses when it was risen to; 0: not known, or it was fallen to
	Wait  int     `json:"wait"`  // epochs before it is tried again; 0: it never fell
	Retry int     `json:"retry"` // epoch from which on it may be risen to
}

// NewLadder returns a ladder at level 0 in epoch 0.
func NewLadder() *Ladder {
	return &Ladder{ladderState{Next: earlyProbes[0], Rungs: make([]rung, len(rungs))}}
}

// Probes reports whether an epoch computes gradients twice.
func (l *Ladder) Probes(epoch int) bool { return l.s.Level > 0 && epoch == l.s.Next }

// Probed says that the epoch that probes has made all rows anew.
func (l *Ladder) Probed(epoch int) { l.s.Start = epoch }

// Observe takes the training loss of an epoch, and what its probe has found, by layer; nil: it had none. It reports whether the schedule has changed. Epochs
// come in order.
func (l *Ladder) Observe(epoch int, loss float64, harms []Harm) (changed bool) {
	s := &l.s
	s.Losses = append(s.Losses, loss)
	s.Losses = s.Losses[max(0, len(s.Losses)-roughDiffs-1):]
	switch {
	case s.Level > 0 && l.rough(epoch):
		l.fall(epoch)
	case epoch != s.Next:
		return false
	case s.Level > 0 && !atMost(harms, 1):
		l.fall(epoch)
	case s.Level+1 < len(rungs) && epoch >= s.Rungs[s.Level+1].Retry && atMost(harms, quietHarm):
		l.rise(epoch)
	default:
		s.Next = following(epoch)
		return false
	}
	return true
}

// atMost reports whether harm is at most a share of the noise in all layers.
func atMost(harms []Harm, share float64) bool {
	return !slices.ContainsFunc(harms, func(h Harm) bool { return !(h.Rho <= share*h.Noise) })
}

// rough reports whether the loss swings more than before the level rose. Delayed gradients make it swing at once; what it does later is its own (docs/adr/0033).
func (l *Ladder) rough(epoch int) bool {
	before, risen := l.s.Rungs[l.s.Level].Rough, epoch-l.s.Since
	return before > 0 && risen >= roughDiffs && risen < probeEvery && deviation(l.s.Losses) > mostRough*before
}

// deviation is the standard deviation of the differences of losses, 0 of less than two.
func deviation(losses []float64) float64 {
	n := len(losses) - 1
	if n < 2 {
		return 0
	}
	mean, sum := (losses[n]-losses[0])/float64(n), 0.0
	for k := range n {
		d := losses[k+1] - losses[k] - mean
		sum += d * d
	}
	return math.Sqrt(sum / float64(n))
}

// rise goes one level up. A probe in this epoch has made all rows anew, so the schedule may have begun with it.
func (l *Ladder) rise(epoch int) {
	s := &l.s
	if s.Level == 0 {
		s.Start = epoch + 1
	}
	s.Level, s.Since = s.Level+1, epoch+1
	s.Rungs[s.Level].Rough = deviation(s.Losses)
	s.Next = min(following(epoch), epoch+1+rungs[s.Level])
}

// fall goes one level down.
func (l *Ladder) fall(epoch int) {
	s := &l.s
	r := &s.Rungs[s.Level]
	r.Wait = max(probeEvery, 2*r.Wait)
	r.Retry = epoch + r.Wait
	s.Level, s.Since = s.Level-1, epoch+1
	s.Rungs[s.Level].Rough = 0
	if s.Level == 0 || s.Start != epoch {
		s.Start = epoch + 1
	}
	if s.Next = following(epoch); s.Level == 0 {
		s.Next = max(s.Next, r.Retry)
	}
}

// following returns the epoch of the probe behind one.
func following(epoch int) int {
	for _, e := range earlyProbes {
		if epoch < e {
			return e
		}
	}
	return epoch + probeEvery
}

// Level returns the level from now on.
func (l *Ladder) Level() int { return l.s.Level }

// Largest is the largest period, the one to plan for. It is a multiple of the others.
func (l *Ladder) Largest() int { return rungs[len(rungs)-1] }

// Schedule returns the schedule from now on.
func (l *Ladder) Schedule() Schedule {
	s := Schedule{Period: rungs[l.s.Level], Start: l.s.Start}
	if l.s.Level > 0 {
		s.Lag = 1
	}
	return s
}

// Climb goes to the first level with stale rows at once, and stays there without probes: for a forecast.
func (l *Ladder) Climb() { l.s.Level, l.s.Next = 1, math.MaxInt }

// Restart begins anew at level 0 in an epoch.
func (l *Ladder) Restart(epoch int) {
	*l = *NewLadder()
	l.s.Start, l.s.Since, l.s.Next = epoch, epoch, following(epoch)
}
