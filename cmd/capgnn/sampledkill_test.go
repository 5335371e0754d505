//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

// A run on samples that is killed or interrupted at any moment, inside an epoch too, goes on to the weights of a run that nobody disturbed, and an
// interrupted one says how.
func TestSampledKilledAndResumed(t *testing.T) {
	t.Parallel()
	kills := 2
	if long.Wanted() {
		kills = 6
	}
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := sampledArgs("--batch-size", "2", "--epochs", "80", "--devices", "cpu:0,threads=1,cpu:1,threads=1", "--quiet")
	want := s.train(append(args, "--run-dir", "whole")...)
	random := rand.New(rand.NewPCG(19, long.Turn())) // other moments for every commit
	inside := 0                                      // interrupted inside an epoch
	for k := 0; k < kills || long.Wanted() && inside == 0 && k < 20; k++ {
		dir, signal := "", []syscall.Signal{syscall.SIGKILL, syscall.SIGINT}[k%2]
		every := []string{"5steps", "30steps", "1", "0"}[random.IntN(4)]
		var stderr bytes.Buffer
		code := 0
		for try := 0; ; try++ { // the run may end before its moment
			dir = fmt.Sprintf("run%d-%d", k, try)
			cmd := s.command(append([]string{"train", "--run-dir", dir, "--checkpoint-every", every}, args...)...)
			stderr.Reset()
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for start := time.Now(); !term.Exists(s.path(filepath.Join(dir, "metrics.jsonl"))); time.Sleep(time.Millisecond) {
				if time.Since(start) > time.Minute {
					t.Fatalf("no epoch after a minute\n%s", &stderr)
				}
			}
			time.Sleep(time.Duration(random.IntN(1000>>try)) * time.Millisecond)
			_ = cmd.Process.Signal(signal) // it may have ended
			_ = cmd.Wait()                 // the exit code says it
			if code = cmd.ProcessState.ExitCode(); code != 0 {
				break
			}
		}
		if signal == syscall.SIGINT {
			line := stderr.String()
			if code != term.ExitInterrupted || !bytes.Contains(stderr.Bytes(), []byte("continue with `capgnn train --resume "+dir+"`")) {
				t.Errorf("Ctrl-C ends with %d, want 130 and how to go on: %s", code, line)
			}
			if bytes.Contains(stderr.Bytes(), []byte("after step")) {
				inside++
			}
		}
		if got := s.train("--resume", dir); got.SHA256 != want.SHA256 || *got.BestEpoch != *want.BestEpoch || *got.Val != *want.Val || got.Sampling.Edges != want.Sampling.Edges || got.Sampling.Rows != want.Sampling.Rows || got.FinalLoss != want.FinalLoss {
			t.Errorf("signal %v with --checkpoint-every %s, resumed: weights %s, steps %+v, undisturbed %s, %+v", signal, every, got.SHA256, got.Sampling, want.SHA256, want.Sampling)
		}
		lines, err := os.ReadFile(s.path(filepath.Join(dir, "metrics.jsonl")))
		if err != nil || bytes.Count(lines, []byte("\n")) != 80 {
			t.Errorf("resumed: %d lines of metrics, %v", bytes.Count(lines, []byte("\n")), err)
		}
		os.RemoveAll(s.path(dir))
	}
	if long.Wanted() && inside == 0 {
		t.Error("no interruption was inside an epoch")
	}
}
