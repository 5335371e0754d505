package training

import (
	"fmt"
	"io"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu/timeline"
	"capgnn/internal/atomicfile"
)

// CheckTrace reports an epoch to trace that the run does not have.
func (t *Run) CheckTrace() error {
	if t.Trace != nil && (*t.Trace < 0 || *t.Trace >= t.Config.Epochs) {
		return term.Usagef("--trace %d with --epochs %d: epochs are 0 to %d: name one of them", *t.Trace, t.Config.Epochs, t.Config.Epochs-1)
	}
	return nil
}

// tracing returns what records the epoch that is to be traced and writes the trace into the run folder, nil where none is or another rank has the folder.
// A trace that cannot be made is a note, as the run goes on.
func (t *Run) tracing() func(epoch int) (done func()) {
	if t.Trace == nil || !t.Ranks.Leads() {
		return nil
	}
	return func(epoch int) func() {
		if epoch != *t.Trace {
			return func() {}
		}
		r, err := timeline.Begin(t.Devices)
		if err != nil {
			t.Console.Note("note: no trace: %s", term.OneLine(err))
			return func() {}
		}
		return func() {
			line := r.End()
			t.traced = true
			err := atomicfile.Write(t.Dir.Trace(), func(w io.Writer) error { return line.Write(w, fmt.Sprintf("epoch %d", epoch)) })
			switch {
			case err != nil:
				t.Console.Note("note: no trace: %s", term.OneLine(err))
			case line.Kept < line.Duration:
				t.Console.Note("the trace has the first %d operations of epoch %d", timeline.MaxSpans, epoch)
			}
		}
	}
}

// resuming returns what --resume takes behind so many epochs: the folder, and a trace to come, which config.yaml lacks.
func (t *Run) resuming(done int) string {
	if t.Trace != nil && *t.Trace >= done {
		return fmt.Sprintf("%s --trace %d", t.Dir, *t.Trace)
	}
	return string(t.Dir)
}

// SayUntraced says of a run that has ended that the epoch to trace was not trained.
func (t *Run) SayUntraced() {
	if t.Trace != nil && !t.traced && t.Ranks.Leads() {
		t.Console.Note("note: no trace: epoch %d was not trained now", *t.Trace)
	}
}
