package fit

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// script is a trainer that notes what it is told. Epoch k reaches scores[k].
type script struct {
	scores     []int
	fails      string // the call that fails
	halts      string // the call that is interrupted
	train      time.Duration
	save       time.Duration
	cancelAt   int // epoch in whose report the run is interrupted; 0: none is
	cancel     context.CancelFunc
	within     int // epoch inside which it stops; 0: none
	calls      []string
	reported   []report
	savedState State[int] // at the last Save
	rates      []float64  // of the epochs
	state      *State[int]
}

type report struct{ epoch, score int }

var errScript = errors.New("the device is lost")

func (s *script) note(format string, a ...any) error {
	call := fmt.Sprintf(format, a...)
	s.calls = append(s.calls, call)
	switch call {
	case s.fails:
		return errScript
	case s.halts:
		return ErrInterrupted
	}
	return nil
}

func (s *script) Train(epoch int, r *report) (float64, error) {
	time.Sleep(s.train)
	r.epoch = epoch
	if s.within > 0 && epoch == s.within {
		return 0, errors.Join(s.note("train %d", epoch), ErrInterrupted)
	}
	return float64(10 - epoch), s.note("train %d", epoch)
}

func (s *script) Evaluate(epoch int, r *report) (int, error) {
	if epoch < 0 {
		return 0, s.note("evaluate %d", epoch)
	}
	r.score = s.scores[epoch]
	return r.score, s.note("evaluate %d", epoch)
}

func (s *script) Better(m, best int) bool { return m > best }

func (s *script) KeepBest(epoch int) error { return s.note("keep %d", epoch) }

func (s *script) Report(r report) error {
	s.reported = append(s.reported, r)
	if s.cancelAt > 0 && r.epoch == s.cancelAt {
		s.cancel()
	}
	return s.note("report %d", r.epoch)
}

func (s *script) SaveNow(slow bool) (bool, error) { return slow, nil }

func (s *script) SetRate(rate float64) { s.rates = append(s.rates, rate) }

// Watched returns the score of the last evaluation.
func (s *script) Watched() (metric, loss float64) {
	score := s.scores[s.state.Epochs-1]
	return float64(score), float64(10 - score)
}

func (s *script) Save() error {
	time.Sleep(s.save)
	s.savedState = *s.state
	return s.note("save %d", s.state.Epochs)
}

// run runs a script from a state on.
func (s *script) run(t *testing.T, o Options, state State[int]) (State[int], error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.cancel, s.state = cancel, &state
	err := Run[report, int](ctx, s, o, &state)
	return state, err
}

// What is called when, by the options.
func TestOrderOfCalls(t *testing.T) {
	for name, c := range map[string]struct {
		o       Options
		scores  []int
		calls   string // separated by commas
		best    int    // epoch
		stopped string
	}{
		"no epoch":           {Options{}, nil, "evaluate -1, keep -1, save 0", -1, ""},
		"only at the end":    {Options{Epochs: 2}, []int{3, 4}, "train 0, report 0, train 1, evaluate 1, keep 1, report 1, save 2", 1, ""},
		"every epoch":        {Options{Epochs: 2, EvalEvery: 1}, []int{4, 3}, "train 0, evaluate 0, keep 0, report 0, train 1, evaluate 1, report 1, save 2", 0, ""},
		"the last one too":   {Options{Epochs: 3, EvalEvery: 2}, []int{0, 3, 5}, "train 0, report 0, train 1, evaluate 1, keep 1, report 1, train 2, evaluate 2, keep 2, report 2, save 3", 2, ""},
		"equal is no better": {Options{Epochs: 2, EvalEvery: 1}, []int{4, 4}, "train 0, evaluate 0, keep 0, report 0, train 1, evaluate 1, report 1, save 2", 0, ""},
		"patience": {Options{Epochs: 9, EvalEvery: 1, Patience: 2}, []int{1, 5, 4, 5, 6}, "train 0, evaluate 0, keep 0, report 0, train 1, evaluate 1, keep 1, report 1, " +
			"train 2, evaluate 2, report 2, train 3, evaluate 3, report 3, save 4", 1, OutOfPatience},
		"patience begins anew": {Options{Epochs: 4, EvalEvery: 1, Patience: 2}, []int{5, 4, 6, 5}, "train 0, evaluate 0, keep 0, report 0, train 1, evaluate 1, report 1, " +
			"train 2, evaluate 2, keep 2, report 2, train 3, evaluate 3, report 3, save 4", 2, ""},
		"saved": {Options{Epochs: 4, SaveEvery: 2}, []int{0, 0, 0, 1}, "train 0, report 0, train 1, report 1, save 2, train 2, report 2, train 3, evaluate 3, keep 3, report 3, save 4", 3, ""},
	} {
		s := &script{scores: c.scores}
		got, err := s.run(t, c.o, NewState[int]())
		if calls := strings.Join(s.calls, ", "); err != nil || calls != c.calls {
			t.Errorf("%s: error %v,\n%s, want\n%s", name, err, calls, c.calls)
		}
		if got.BestEpoch != c.best || got.Stopped != c.stopped || got != s.savedState {
			t.Errorf("%s: best epoch %d, want %d; stopped %q, want %q; saved %+v of %+v", name, got.BestEpoch, c.best, got.Stopped, c.stopped, s.savedState, got)
		}
		if got.Epochs > 0 && (got.Loss != float64(11-got.Epochs) || got.Best != c.scores[c.best] || got.Last != c.scores[got.Epochs-1]) {
			t.Errorf("%s: %+v", name, got)
		}
		for _, r := range s.reported {
			if r.score > 0 && r.score != c.scores[r.epoch] {
				t.Errorf("%s: epoch %d was reported with score %d", name, r.epoch, r.score)
			}
		}
	}
}

// A run that is interrupted behind any epoch and resumed from what it saved ends in the state of one that was not.
func TestInterruptedAndResumed(t *testing.T) {
	o := Options{Epochs: 7, EvalEvery: 2, Patience: 2, SaveEvery: 3}
	scores := []int{0, 5, 0, 4, 0, 6, 5}
	whole := &script{scores: scores}
	want, err := whole.run(t, o, NewState[int]())
	if err != nil {
		t.Fatal(err)
	}
	for at := 1; at < 6; at++ {
		first := &script{scores: scores, cancelAt: at}
		state, err := first.run(t, o, NewState[int]())
		if err != nil || state.Stopped != Interrupted || state.Epochs != at+1 || first.savedState.Stopped != "" || first.savedState.Epochs != at+1 {
			t.Fatalf("interrupted in epoch %d: error %v, %+v, saved %+v", at, err, state, first.savedState)
		}
		second := &script{scores: scores}
		if got, err := second.run(t, o, first.savedState); err != nil || got != want {
			t.Errorf("resumed behind epoch %d: error %v, %+v, want %+v", at, err, got, want)
		}
		if reports := append(first.reported, second.reported...); !reflect.DeepEqual(reports, whole.reported) {
			t.Errorf("resumed behind epoch %d: reported %v, want %v", at, reports, whole.reported)
		}
	}
}

// A run that ran out of patience is not resumed.
func TestStoppedStaysStopped(t *testing.T) {
	s := &script{}
	state := State[int]{Epochs: 4, BestEpoch: 1, Stopped: OutOfPatience}
	if got, err := s.run(t, Options{Epochs: 9}, state); err != nil || got != state || strings.Join(s.calls, "") != "save 4" {
		t.Errorf("error %v, %+v, %v", err, got, s.calls)
	}
}

// The first error ends the run, says in what epoch an evaluation failed, and nothing is saved behind it.
func TestFirstErrorEnds(t *testing.T) {
	for fails, want := range map[string]string{
		"train 1":    errScript.Error(),
		"evaluate 1": "evaluate after epoch 1: " + errScript.Error(),
		"keep 1":     "evaluate after epoch 1: " + errScript.Error(),
		"report 1":   errScript.Error(),
		"save 2":     errScript.Error(),
	} {
		s := &script{scores: []int{1, 2, 3}, fails: fails}
		_, err := s.run(t, Options{Epochs: 3, EvalEvery: 1, SaveEvery: 2}, NewState[int]())
		if err == nil || err.Error() != want || !errors.Is(err, errScript) {
			t.Errorf("%s: error %v, want %s", fails, err, want)
		}
		if last := s.calls[len(s.calls)-1]; last != fails {
			t.Errorf("%s: went on to %s", fails, last)
		}
	}
}

// Slow epochs are followed by checkpoints, which take a tenth of the time at most.
func TestSlowEpochsAreSaved(t *testing.T) {
	for name, c := range map[string]struct {
		train, save time.Duration
		saves       int // of 40 epochs, with that at the end
	}{
		"quick":               {time.Second, 0, 1},
		"slow":                {1100 * time.Millisecond, 0, 40},
		"slow, slow to save":  {2 * time.Second, 2 * time.Second, 5},
		"slow, quick to save": {2 * time.Second, 100 * time.Millisecond, 40},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{scores: make([]int, 40), train: c.train, save: c.save}
				if _, err := s.run(t, Options{Epochs: 40}, NewState[int]()); err != nil {
					t.Fatal(err)
				}
				saves := 0
				for _, call := range s.calls {
					if strings.HasPrefix(call, "save") {
						saves++
					}
				}
				if saves != c.saves {
					t.Errorf("%d checkpoints, want %d", saves, c.saves)
				}
			})
		})
	}
}

// A trainer that stops inside an epoch: that epoch is saved, not counted or reported, and trained on when the run is resumed.
func TestInterruptedInsideAnEpoch(t *testing.T) {
	s := &script{scores: []int{1, 2, 3}, within: 2}
	state, err := s.run(t, Options{Epochs: 3}, NewState[int]())
	if calls := strings.Join(s.calls, ", "); err != nil || calls != "train 0, report 0, train 1, report 1, train 2, save 2" {
		t.Errorf("error %v, %s", err, calls)
	}
	if state.Stopped != Interrupted || state.Epochs != 2 || s.savedState.Stopped != "" {
		t.Errorf("%+v, saved %+v", state, s.savedState)
	}
	again := &script{scores: s.scores}
	if state, err = again.run(t, Options{Epochs: 3}, s.savedState); err != nil || state.Epochs != 3 || strings.Join(again.calls, ", ") != "train 2, evaluate 2, keep 2, report 2, save 3" {
		t.Errorf("resumed: error %v, %+v, %v", err, state, again.calls)
	}
}

// A trainer that stops in an evaluation: the epoch is neither counted nor reported, and trained and evaluated when the run is resumed.
func TestInterruptedInEvaluation(t *testing.T) {
	for _, c := range []struct {
		epochs              int
		halts, calls, again string
	}{
		{3, "evaluate 1", "train 0, evaluate 0, keep 0, report 0, train 1, evaluate 1, save 1", "train 1, evaluate 1, keep 1, report 1, train 2, evaluate 2, report 2, save 3"},
		{2, "evaluate 1", "train 0, evaluate 0, keep 0, report 0, train 1, evaluate 1, save 1", "train 1, evaluate 1, keep 1, report 1, save 2"},
		{0, "evaluate -1", "evaluate -1, save 0", "evaluate -1, keep -1, save 0"},
	} {
		o := Options{Epochs: c.epochs, EvalEvery: 1}
		s := &script{scores: []int{1, 3, 2}, halts: c.halts}
		state, err := s.run(t, o, NewState[int]())
		if calls := strings.Join(s.calls, ", "); err != nil || calls != c.calls {
			t.Errorf("%s of %d: error %v, %s", c.halts, c.epochs, err, calls)
		}
		if saved := s.savedState; state.Stopped != Interrupted || saved.Stopped != "" || saved.Epochs > 0 && (saved.Last != 1 || saved.Loss != 10) {
			t.Errorf("%s of %d: %+v, saved %+v", c.halts, c.epochs, state, s.savedState)
		}
		again := &script{scores: s.scores}
		if _, err := again.run(t, o, s.savedState); err != nil || strings.Join(again.calls, ", ") != c.again {
			t.Errorf("%s of %d, resumed: error %v, %v", c.halts, c.epochs, err, again.calls)
		}
	}
}

// A run that is interrupted behind any epoch and resumed goes on with the rates of one that was not, whatever its schedule.
func TestRatesOfAResumedRun(t *testing.T) {
	scores := []int{1, 1, 1, 3, 3, 3, 3, 3, 5, 5}
	for name, o := range map[string]Schedule{
		"cosine": {Kind: Cosine, Warmup: 3}, "step": {Kind: Step, Every: 2, Factor: 0.5}, "metric": {Kind: Plateau, Factor: 0.5, ByMetric: true}, "loss": {Kind: Plateau, Factor: 0.5, Patience: 1},
	} {
		o := Options{Epochs: len(scores), EvalEvery: 1, Schedule: o, Rate: 0.1}
		whole := &script{scores: scores}
		want, err := whole.run(t, o, NewState[int]())
		if err != nil || len(whole.rates) != len(scores) {
			t.Fatalf("%s: %v, rates %v", name, err, whole.rates)
		}
		if first, last := whole.rates[0], whole.rates[len(scores)-1]; first == last {
			t.Errorf("%s: the rate stays %v", name, first)
		}
		for at := 1; at < len(scores)-1; at++ {
			first := &script{scores: scores, cancelAt: at}
			state, err := first.run(t, o, NewState[int]())
			second := &script{scores: scores}
			got, again := second.run(t, o, first.savedState)
			if rates := append(first.rates, second.rates...); err != nil || again != nil || got != want || !reflect.DeepEqual(rates, whole.rates) {
				t.Errorf("%s behind epoch %d (%d): %v, %v, %+v, rates %v, want %v", name, at, state.Epochs, err, again, got, rates, whole.rates)
			}
		}
	}
}
