package ranks_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
)

// rankOf returns the process of a rank that a launcher has started.
func rankOf(t *testing.T, launcher, rank int) int {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob("/proc/" + strconv.Itoa(launcher) + "/task/*/children")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range threads {
			list, _ := os.ReadFile(file) // a thread may have ended
			for child := range strings.FieldsSeq(string(list)) {
				env, _ := os.ReadFile("/proc/" + child + "/environ")
				if bytes.Contains(env, []byte("\x00RANK="+strconv.Itoa(rank)+"\x00")) {
					pid, err := strconv.Atoi(child)
					if err != nil {
						t.Fatal(err)
					}
					return pid
				}
			}
		}
	}
	t.Fatalf("no rank %d of launcher %d", rank, launcher)
	return 0
}

// A launcher that is asked to end has all ranks end behind one epoch; started with --max-restarts it continues a run that lost a rank, to the
// weights of one that did not.
func TestLaunchIsStoppedAndRestarts(t *testing.T) {
	t.Parallel()
	l := newLongRun(t)
	args := append([]string{"launch", "-n", "2", "--max-restarts", "1", "--json", "--", "train", "--devices", progtest.CPUs(2)}, l.args...)
	cmd := l.Command(append(args, "--run-dir", "stopped")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l.WaitForEpochs(cmd, "stopped", 20)
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	lines := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
	last := lines[len(lines)-1]
	if code := cmd.ProcessState.ExitCode(); code != term.ExitInterrupted || len(lines) != 3 || !strings.HasPrefix(last, "capgnn: rank ") || !strings.Contains(last, "continue with `capgnn train --resume stopped`") {
		t.Errorf("exit code %d\n%s", code, &stderr)
	}
	var stdout bytes.Buffer
	cmd = l.Command(append(args, "--run-dir", "restarted")...)
	stderr.Reset()
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l.WaitForEpochs(cmd, "restarted", 50)
	if err := syscall.Kill(rankOf(t, cmd.Process.Pid, 1), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(stderr.String(), "restart 1 of 1\n") {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if got := progtest.ReadResultLine(t, stdout.String()); got.SHA256 != l.want {
		t.Errorf("weights %s, undisturbed %s", got.SHA256, l.want)
	}
}
