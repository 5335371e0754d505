//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"capgnn/internal/long"
)

// member is a rank under way.
type member struct {
	*exec.Cmd
	err   bytes.Buffer
	ended chan time.Time
}

// begin starts the ranks of a run, one for each number of devices.
func (r rankRun) begin(devices []int) []*member {
	r.t.Helper()
	var all []*member
	port := freePort(r.t)
	for rank, n := range devices {
		m := &member{ended: make(chan time.Time, 1)}
		m.Cmd = r.command(append(append([]string{"train"}, r.args...), "--devices", cpus(n))...)
		m.Env = append(m.Env, "RANK="+strconv.Itoa(rank), "WORLD_SIZE="+strconv.Itoa(len(devices)), "MASTER_ADDR=127.0.0.1", "MASTER_PORT="+port)
		m.Stderr = &m.err
		if err := m.Start(); err != nil {
			r.t.Fatal(err)
		}
		go func() { // ends with the process
			_ = m.Wait() // the exit code says it
			m.ended <- time.Now()
		}()
		all = append(all, m)
	}
	r.t.Cleanup(func() {
		for _, m := range all {
			_ = m.Process.Kill() // it may have ended
		}
	})
	return all
}

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
	newStore().write(s, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "16", "--epochs", "300", "--eval-every", "25", "--checkpoint-every", "20", "--quiet"}
	want := s.train(append(args, "--devices", cpus(4), "--run-dir", "alone")...)
	groups := [][]int{{2, 2}, {3, 1}, {1, 1, 1, 1}}
	random := rand.New(rand.NewPCG(18, long.Turn())) // other moments for every commit
	var slowest [2]time.Duration
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
		var run []*member
		var took []time.Duration
		for try := 0; ; try++ { // the run may end before its moment
			dir = fmt.Sprintf("run%d-%d", k, try)
			run = rankRun{sandbox: s, args: append(args, "--run-dir", dir, "--transport", "peer-timeout="+fmt.Sprint(patience))}.begin(devices)
			for start := time.Now(); !exists(s.path(filepath.Join(dir, "metrics.jsonl"))); time.Sleep(time.Millisecond) {
				if time.Since(start) > time.Minute {
					t.Fatalf("%v: no epoch after a minute\n%s", devices, &run[0].err)
				}
			}
			time.Sleep(time.Duration(random.IntN(1500>>try)) * time.Millisecond)
			if err := run[victim].Process.Signal(signal); err != nil {
				continue
			}
			took = took[:0]
			done := true
			for lost, rank := time.Now(), 0; rank < len(run); rank++ {
				if rank == victim {
					took = append(took, 0)
					continue
				}
				took = append(took, (<-run[rank].ended).Sub(lost))
				done = done && run[rank].ProcessState.ExitCode() == 0
			}
			_ = run[victim].Process.Kill() // a stopped one
			<-run[victim].ended
			if !done {
				break
			}
		}
		line := regexp.MustCompile(fmt.Sprintf(lostLine, victim, why))
		for rank, m := range run {
			if rank == victim {
				continue
			}
			lines++
			slowest[b2i(stop)] = max(slowest[b2i(stop)], took[rank])
			found := line.FindStringSubmatch(m.err.String())
			if code := m.ProcessState.ExitCode(); code != 4 || found == nil {
				t.Errorf("%v, signal %v for rank %d: rank %d ends after %v with exit code %d, want 4: %s", devices, signal, victim, rank, took[rank], code, m.err.String())
			} else if found[1] != "" {
				named++
			}
		}
		resume := []string{"--resume", dir, "--json", "--quiet"}
		got := want
		switch n := []int{1, 2, 4}[k/len(groups)%3]; n {
		case 1:
			got = s.train(resume...)
		default:
			all := rankRun{sandbox: s, args: resume, own: func(int) []string { return []string{"--devices", cpus(4 / n)} }}.over(n)
			if all[0].code != 0 {
				t.Fatalf("resumed on %d ranks: exit code %d: %s", n, all[0].code, all[0].err)
			}
			got = readResultLine(t, all[0].out)
		}
		if got.SHA256 != want.SHA256 || *got.BestEpoch != *want.BestEpoch || *got.Test != *want.Test {
			t.Errorf("%v, signal %v for rank %d, resumed: weights %s, best epoch %d, undisturbed %s, %d", devices, signal, victim, got.SHA256, *got.BestEpoch, want.SHA256, *want.BestEpoch)
		}
		os.RemoveAll(s.path(dir))
	}
	t.Logf("%d killed: the others ended within %v; %d stopped: within %v of --transport peer-timeout=3s; %d of %d lines say who waited for what, or saw it", kills, slowest[0].Round(time.Millisecond), stops,
		slowest[1].Round(time.Millisecond), named, lines)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
