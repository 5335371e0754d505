package term

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"capgnn/internal/atomicfile"
)

// grace is how long what is under way may take to finish after a signal. What takes longer is left: from the signal to the end
// of the process it is 2 s at most.
const grace = time.Second

// attended counts the commands of this process that handle signals themselves. It is of the process, as signals are.
var attended atomic.Int32

// endings are the signals that end a program: Ctrl-C, SIGTERM, and SIGHUP of a terminal that is closed, unless it was ignored when
// the program began, as nohup has it. Ctrl-C, which a shell ignores for what runs behind &, comes last: who sees it handled knows that all are.
func endings() []os.Signal {
	list := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return append(list, os.Interrupt)
}

// ObeySignals ends the process with exit code 130 at one of endings, unless a command takes care of that.
func ObeySignals() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endings()...)
	go func() { // lives as long as the process
		for range signals {
			if attended.Load() == 0 {
				stopAtOnce(os.Stderr, "")
			}
		}
	}()
}

// stopAtOnce ends the process with a line that says what is left, and leaves no half-written file behind. "" is for commands that do
// not say what is left.
func stopAtOnce(w io.Writer, left string) {
	switch finished := atomicfile.Abandon(); {
	case left != "":
	case finished:
		left = "what was finished stays"
	default:
		left = "nothing was written"
	}
	fmt.Fprintln(w, ErrorLine(&InterruptedError{left}))
	os.Exit(ExitInterrupted)
}

// WriteSignalsToErrors makes writing into a pipe that nobody reads any more, and beyond the largest size of a file, an error of that
// write; else the system ends the process, and with it a training whose notes nobody reads. Programs that this one starts
// are not touched.
func WriteSignalsToErrors() { signal.Notify(make(chan os.Signal, 1), writeSignals...) }

// Interruptions returns the signals that end a program, for a command that does with them what it likes until stop is called.
func Interruptions() (_ <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endings()...)
	attended.Add(1)
	return signals, func() {
		signal.Stop(signals)
		attended.Add(-1)
	}
}

// Interruptible returns a context that ends at the first of endings, so that what is under way can be finished; the
// second one ends the process at once with exit code 130, and so does the first if that takes longer than grace. when says when
// it stops, such as "after this epoch". The caller calls stop when it is done.
func Interruptible(ctx context.Context, k *Console, when string) (_ context.Context, stop func()) {
	return InterruptibleFor(ctx, k, when, grace)
}

// InterruptibleFor is Interruptible where what is under way may take so long to finish.
func InterruptibleFor(ctx context.Context, k *Console, when string, patience time.Duration) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals, leave := Interruptions()
	done := make(chan struct{})
	// Owned by the caller: stop ends it and waits for nothing, as it holds nothing.
	go func() {
		select {
		case <-done:
			return
		case <-signals:
		}
		late := time.After(patience)
		cancel()
		k.Note("stopping %s; interrupt again to stop at once", k.stopText(when))
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				if s == syscall.SIGHUP { // the shell sends it, and then the terminal once more
					continue
				}
			case <-late:
			}
			k.leave()
			stopAtOnce(k.Err, k.interruptText())
		}
	}()
	return ctx, func() {
		leave()
		close(done)
		cancel()
	}
}
