package ranks

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/term"
)

// After an interruption, too, a rank that does not answer does not keep the launcher when another one has said that it is lost.
func TestInterruptedBesideASilentRank(t *testing.T) {
	for _, before := range []bool{true, false} { // the interruption comes before a rank fails, or after
		l, out, stderr := launch(t, 2, "", "0/listen", "0/out:ready", "0/sleep:300", "0/exit:4", "1/hang")
		if !before {
			l.Args = []string{"0/listen", "0/out:ready", "0/exit:4", "1/hang"}
		}
		signals := make(chan os.Signal, 1)
		l.Signals, l.Patience = signals, 500*time.Millisecond
		go func() { // ends with the test's ranks
			for strings.Count(out.String(), "ready") < len(l.Args)/2 {
				time.Sleep(5 * time.Millisecond)
			}
			signals <- os.Interrupt
		}()
		err := l.Run()
		if f := (*Failed)(nil); !errors.As(err, &f) || f.Code != term.ExitLost || f.Rank != 0 {
			t.Errorf("%v: %+v\n%s", before, err, stderr)
		}
	}
}

// A rank that is interrupted before it listens has been interrupted, not lost.
func TestInterruptedBeforeRanksListen(t *testing.T) {
	everywhere(t, 2, func(t *testing.T, hosts string) {
		l, out, stderr := launch(t, 2, hosts, "out:ready", "sleep:60000")
		signals := make(chan os.Signal, 1)
		l.Signals = signals
		go func() { // ends with the test's ranks
			for strings.Count(out.String(), "ready") < 2 {
				time.Sleep(5 * time.Millisecond)
			}
			signals <- os.Interrupt
		}()
		var f *Failed
		if err := l.Run(); !errors.As(err, &f) || f.Code != term.ExitInterrupted {
			t.Errorf("%+v, want exit code 130\n%s", err, stderr)
		}
	})
}
