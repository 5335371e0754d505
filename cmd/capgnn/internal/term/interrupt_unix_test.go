//go:build unix

package term

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"capgnn/internal/atomicfile"
)

// childOf is the variable with which this test starts itself as the process that is interrupted.
const childOf = "CAPGNN_INTERRUPTED"

// Whenever signals come, the process ends with code 130 and a line that says what is left.
func TestInterruptedAtOnce(t *testing.T) {
	if part := os.Getenv(childOf); part != "" {
		waitForSignals(part)
	}
	for _, tc := range []struct {
		part, want string
		signals    int
	}{
		{"early", "capgnn: interrupted: nothing was written\n", 1},
		{"finished", "capgnn: interrupted: what was finished stays\n", 1},
		{"attended", "stopping now; interrupt again to stop at once\ncapgnn: interrupted: half is left\n", 2},
	} {
		for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestInterruptedAtOnce$")
			cmd.Env, cmd.Dir = append(os.Environ(), childOf+"="+tc.part), t.TempDir()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			cmd.Stderr = &text
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for range tc.signals {
				if _, err := out.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait() // its exit code says what there is to say
			if code := cmd.ProcessState.ExitCode(); code != ExitInterrupted || text.String() != tc.want {
				t.Errorf("%s: %v: exit code %d, %q, want %d, %q", tc.part, s, code, text.String(), ExitInterrupted, tc.want)
			}
		}
	}
}

// waitForSignals tells on standard output when it is ready for each.
func waitForSignals(part string) {
	ObeySignals()
	ctx := context.Background()
	switch part {
	case "finished":
		if err := atomicfile.Write("file", func(io.Writer) error { return nil }); err != nil {
			panic(err)
		}
	case "attended":
		k := &Console{Err: os.Stderr}
		k.OnInterrupt("half is left")
		ctx, _ = InterruptibleFor(ctx, k, "now", 1<<62)
	}
	fmt.Print(".")
	<-ctx.Done()
	fmt.Print(".")
	select {}
}
