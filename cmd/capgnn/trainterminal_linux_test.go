package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/cmdtest"
	"capgnn/cmd/capgnn/internal/term"
)

// train on a terminal shows the devices while it runs, with colours or without, and leaves its notes; a dumb terminal gets lines.
// Slow devices sleep, so the run lasts for some tables and takes little of the processor; the last table has none of the first epochs, in which nothing is cached yet.
func TestTrainOnATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env            string
		table, colours bool
		epochs         string
	}{{"TERM=xterm", true, true, "1200"}, {"NO_COLOR=1", true, false, "600"}, {"TERM=dumb", false, false, "200"}} {
		t.Run(c.env, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			tty := cmdtest.OpenTerminal(t, 100, 30)
			cmd := s.command("train", "--dataset", newStore().write(s, "ring.npz"), "--devices", strings.Repeat(",cpu:threads=1,slow=20,mem=64MiB", 3)[1:],
				"--hidden", "8", "--epochs", c.epochs, "--eval-every", "100", "--staleness", "2,exact=0", "--checkpoint-every", "0", "--json")
			cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=", c.env)
			cmd.Stderr = tty.File
			if err := cmd.Run(); err != nil {
				t.Fatalf("%s: %v: %s", c.env, err, tty.Finish(t))
			}
			text := tty.Finish(t)
			if got := strings.Contains(text, "\x1b[32m"); got != c.colours {
				t.Errorf("%s: colours: %v", c.env, got)
			}
			if !c.table {
				if strings.Contains(text, "\x1b") || !strings.Contains(text, "train 200/200") {
					t.Errorf("%s: want lines, got %q", c.env, text)
				}
				return
			}
			var table string
			v := cmdtest.Screen{Columns: 100, Seen: func(lines []string) {
				if i := len(lines) - 5; i >= 0 && strings.Contains(lines[i], "busy") {
					table = strings.Join(lines[i:], "\n")
				}
			}}
			v.Show(t, text)
			for _, want := range []string{"waiting", "hits", "epochs/s", "left", "loss", " of 64.0 MiB", "50.0 %", "cpu:threads=1", "\ntrain "} {
				if !strings.Contains(table, want) {
					t.Errorf("%s: the table does not show %q:\n%s", c.env, want, table)
				}
			}
			if left := strings.Join(v.Lines, "\n"); strings.Contains(left, "busy") || strings.Contains(left, "[=") || !strings.Contains(left, "60 vertices") {
				t.Errorf("%s: left on the screen:\n%s", c.env, left)
			}
		})
	}
}

// The second Ctrl-C ends train at once, and nothing of its picture stays: the prompt has a line of its own.
func TestInterruptLeavesACleanScreen(t *testing.T) {
	t.Parallel()
	for _, twice := range []bool{false, true} {
		s := newSandbox(t)
		tty := cmdtest.OpenTerminal(t, 80, 24)
		cmd := s.command("train", "--dataset", newStore().write(s, "ring.npz"), "--devices", "cpu:threads=1,slow=20,cpu:threads=1,slow=20", "--hidden", "64", "--epochs", "1000000", "--eval-every", "0", "--json")
		cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=1")
		cmd.Stderr = tty.File
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); !term.Exists(s.path("runs")) && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Second) // behind the first picture of an epoch
		for n := range 2 {
			if n == 1 && !twice {
				break
			}
			fmt.Fprint(tty.File, "^C") // as the terminal writes it
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				break // the first was enough
			}
		}
		_ = cmd.Wait() // an error says the exit code, too
		if code := cmd.ProcessState.ExitCode(); code != term.ExitInterrupted {
			t.Errorf("twice %v: exit code %d", twice, code)
		}
		v := cmdtest.Screen{Columns: 300} // but for the error, which may be longer than a line
		v.Show(t, tty.Finish(t))
		left := strings.Join(v.Lines, "\n")
		if strings.Contains(left, "epochs/s") || strings.Contains(left, "busy") || strings.Contains(left, "[=") || v.Col != 0 || !strings.Contains(left, "stopping after this epoch") {
			t.Errorf("twice %v: the cursor is in column %d of\n%s", twice, v.Col, left)
		}
	}
}
