package ranks_test

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
)

// apart runs `train` as two ranks that stand in folders of their own, as on two machines: rank 0 in the sandbox, rank 1 in a folder below it,
// which has to stay empty. own are devices and more of each rank.
func apart(s *sandbox, own [2]string, args ...string) (code [2]int, stderr [2]string) {
	s.T.Helper()
	if err := os.Mkdir(s.Path("elsewhere"), 0o755); err != nil {
		s.T.Fatal(err)
	}
	port := progtest.FreePort(s.T)
	var all sync.WaitGroup
	for rank, number := range []string{"0", "1"} {
		cmd := s.Command(append([]string{"train", "--ranks", "2,rank=" + number + ",master=127.0.0.1:" + port, "--devices", own[rank]}, args...)...)
		if rank == 1 {
			cmd.Dir = s.Path("elsewhere")
		}
		var err bytes.Buffer
		cmd.Stderr = &err
		all.Go(func() {
			_ = cmd.Run() // the exit code says it
			code[rank], stderr[rank] = cmd.ProcessState.ExitCode(), err.String()
		})
	}
	all.Wait()
	if left, err := os.ReadDir(s.Path("elsewhere")); err != nil || len(left) > 0 {
		s.T.Errorf("rank 1 wrote %v (%v)", left, err)
	}
	return code, stderr
}

// A rank of another machine has no run folder: it ends well without one, and writes nothing.
func TestRanksOfOtherFolders(t *testing.T) {
	for _, more := range [][]string{{"--epochs", "3"}, {"--epochs", "0"}, {"--epochs", "30", "--lr", "1e-9", "--eval-every", "1", "--patience", "1"}} {
		s := newSandbox(t)
		progtest.NewStore().Write(s.Sandbox, "ok.npz")
		args := append([]string{"--dataset", s.Path("ok.npz"), "--hidden", "4", "--layers", "2", "--run-dir", "run"}, more...)
		code, stderr := apart(s, [2]string{progtest.CPUs(1), progtest.CPUs(1)}, args...)
		if code != [2]int{} {
			t.Fatalf("%v: exit codes %v\n%s\n%s", more, code, stderr[0], stderr[1])
		}
		for _, name := range []string{"result.json", "metrics.jsonl", "report.html"} {
			if _, err := os.Stat(s.Path("run/" + name)); err != nil {
				t.Errorf("%v: %v", more, err)
			}
		}
	}
}

// Ranks whose links differ train with the caches and the bits of one process on the same devices.
func TestRanksWithUnequalLinks(t *testing.T) {
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	s.Must("partition", "--dataset", "ok.npz", "--parts", "2", "--partitioner", "random", "--out", "two.plan") // measures nothing
	args := []string{"--dataset", s.Path("ok.npz"), "--plan", "two.plan", "--hidden", "4", "--layers", "2", "--epochs", "3"}
	fast, slow := "cpu:threads=1,link=4GiB/s", "cpu:threads=1,link=1GiB/s"
	want := s.Train(append(args, "--devices", fast+","+slow, "--run-dir", "alone")...)
	code, stderr := apart(s, [2]string{fast, slow}, append(args, "--run-dir", "run")...)
	if code != [2]int{} {
		t.Fatalf("exit codes %v\n%s\n%s", code, stderr[0], stderr[1])
	}
	got, err := os.ReadFile(s.Path("run/result.json"))
	if err != nil || !strings.Contains(string(got), want.SHA256) {
		t.Errorf("weights are not %s, as of one process: %s (%v)", want.SHA256, got, err)
	}
}
