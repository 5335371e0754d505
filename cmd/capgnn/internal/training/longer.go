package training

import (
	"cmp"
	"fmt"
	"strings"

	"capgnn/internal/fit"
	"capgnn/internal/number"
)

// Lengthen has a run that is resumed go on to so many epochs, more than it was to have, and notes why its weights are not those of a run
// that had so many from the start, where they are not.
func (t *Run) Lengthen(epochs int) {
	c := &t.Config
	was, of := c.Epochs, c.HaloCache().ExactEpochs
	var unlike []string
	say := func(format string, a ...any) { unlike = append(unlike, fmt.Sprintf(format, a...)) }
	if of > 0 && c.ExactEpochs.Value < 0 {
		say("--staleness exact auto was %s", number.Counted(of, "epoch"))
	}
	c.BegunEpochs = cmp.Or(c.BegunEpochs, was)
	if why := c.Lengthened(); why != "" {
		say("%s", why)
	}
	result, err := t.Dir.ReadResult()
	more := err == nil && result != nil && (c.EvalEvery == 0 || was%c.EvalEvery != 0)
	if more && (unlike != nil || c.Patience > 0 || c.Schedule.Value.Kind == fit.Plateau) {
		say("one evaluation more, behind epoch %d, counts for the best weights, --patience and plateaus", was)
	} else if more {
		t.Console.Note("note: the evaluation after epoch %d counts for the best weights of %s; "+
			"a run of %d epochs from the start has none there, and the same weights at its end", was, t.Dir, epochs)
	}
	c.Epochs, t.Longer = epochs, true
	if unlike != nil {
		t.Console.Note("note: %s goes on from %d to %d epochs, not as a run of %d from the start would: %s", t.Dir, was, epochs, epochs, strings.Join(unlike, "; "))
	}
}

// writeLonger makes the folder that of a run of more epochs, which is not finished.
func (t *Run) writeLonger() error {
	if !t.Longer || !t.Ranks.Leads() {
		return nil
	}
	if err := t.Dir.Unfinish(); err != nil {
		return err
	}
	return t.writeConfig()
}
