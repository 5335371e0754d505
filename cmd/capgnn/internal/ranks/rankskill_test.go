//go:build unix

package ranks_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/internal/long"
)

// lostLine is what every rank says when one is lost in training, but for which one: it is the last line.
const lostLine = `(?m)^capgnn: (?:.*: )?rank %d \(host [^)]+\) lost (?:in epoch \d+|before the first epoch): %s(; rank \d+ waited for [^:]+|; seen by rank \d+ \(host [^)]+\))?: continue from the last checkpoint with --resume \S+\n\z`

// A rank that is killed or stopped at any moment of training ends the others with exit code 4 and a line that names it, at once or when the time for
// signs of life is over; and whatever number of ranks continues from the last checkpoint, the weights are those of a run that nobody disturbed.
func TestRanksAreKilledAndResumed(t *testing.T) {
	kills, stops := 1, 0
	if long.Wanted() {
		kills, stops = 12, 3
	}
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "16", "--epochs", "300", "--eval-every", "25", "--checkpoint-every", "20", "--quiet"}
	want := s.Train(append(args, "--devices", progtest.CPUs(4), "--run-dir", "alone")...)
	groups := [][]int{{2, 2}, {3, 1}, {1, 1, 1, 1}}
	random := rand.New(rand.NewPCG(18, long.Turn())) // other moments for every commit
	named, lines := 0, 0
	for k := range kills + stops {
		stop := k >= kills
		devices := groups[k%len(groups)]
		victim := random.IntN(len(devices))
		const patience = 3 * time.Second
		signal, why := syscall.SIGKILL, "connection (?:closed|reset)"
		if stop {
			signal, why = syscall.SIGSTOP, "(?:no sign of life for 3s|it gave no sign of life for 3s)"
		}
		var dir string
		var ends []progtest.Ended               // the victim's is none
		for try, done := 0, true; done; try++ { // the run may end before its moment
			dir = fmt.Sprintf("run%d-%d", k, try)
			run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--run-dir", dir, "--transport", "peer-timeout="+fmt.Sprint(patience)),
				Own: func(rank int) []string { return []string{"--devices", progtest.CPUs(devices[rank])} }}.Start(len(devices))
			s.WaitForEpochs(run[0].Cmd, dir, 1)
			time.Sleep(time.Duration(random.IntN(1500>>try)) * time.Millisecond)
			if err := run[victim].Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			ends = make([]progtest.Ended, len(run))
			for rank, p := range run {
				if rank != victim {
					ends[rank] = p.End()
					done = done && ends[rank].Code == 0
				}
			}
			_ = run[victim].Process.Kill() // a stopped one
			run[victim].End()
		}
		line := regexp.MustCompile(fmt.Sprintf(lostLine, victim, why))
		for rank, e := range ends {
			if rank == victim {
				continue
			}
			lines++
			found := line.FindStringSubmatch(e.Err)
			if e.Code != 4 || found == nil {
				t.Errorf("%v, signal %v for rank %d: rank %d ends with exit code %d, want 4: %s", devices, signal, victim, rank, e.Code, e.Err)
			} else if found[1] != "" {
				named++
			}
		}
		resume := []string{"--resume", dir, "--json", "--quiet"}
		got := want
		switch n := []int{1, 2, 4}[k/len(groups)%3]; n {
		case 1:
			got = s.Train(resume...)
		default:
			all := progtest.RankRun{Sandbox: s.Sandbox, Args: resume, Own: func(int) []string { return []string{"--devices", progtest.CPUs(4 / n)} }}.Over(n)
			if all[0].Code != 0 {
				t.Fatalf("resumed on %d ranks: exit code %d: %s", n, all[0].Code, all[0].Err)
			}
			got = progtest.ReadResultLine(t, all[0].Out)
		}
		if got.SHA256 != want.SHA256 || *got.BestEpoch != *want.BestEpoch || *got.Test != *want.Test {
			t.Errorf("%v, signal %v for rank %d, resumed: weights %s, best epoch %d, undisturbed %s, %d", devices, signal, victim, got.SHA256, *got.BestEpoch, want.SHA256, *want.BestEpoch)
		}
		os.RemoveAll(s.Path(dir))
	}
	t.Logf("%d killed, %d stopped: %d of %d lines say who waited for what, or saw it", kills, stops, named, lines)
}
