package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// ended is how a rank ended.
type ended struct {
	out, err string
	code     int
}

// last returns the last line that a rank printed to standard error.
func (e ended) last() string {
	all := strings.Split(strings.TrimSuffix(e.err, "\n"), "\n")
	return all[len(all)-1]
}

// rankRun is a run over several ranks of this machine.
type rankRun struct {
	*sandbox
	port string                  // of rank 0; "": a free one
	args []string                // of every rank
	own  func(rank int) []string // of one more
	env  func(rank int) []string // variables of one more
}

// freePort returns a port of this machine on which nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("no loopback address: %v", err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// over runs `train` as n ranks and returns how each ended.
func (r rankRun) over(n int) []ended {
	r.t.Helper()
	if r.port == "" {
		r.port = freePort(r.t)
	}
	out := make([]ended, n)
	var all sync.WaitGroup
	for rank := range n {
		args := append([]string{"train"}, r.args...)
		if r.own != nil {
			args = append(args, r.own(rank)...)
		}
		cmd := r.command(args...)
		cmd.Env = append(cmd.Env, "RANK="+strconv.Itoa(rank), "WORLD_SIZE="+strconv.Itoa(n), "MASTER_ADDR=127.0.0.1", "MASTER_PORT="+r.port)
		if r.env != nil {
			cmd.Env = append(cmd.Env, r.env(rank)...)
		}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		all.Go(func() {
			_ = cmd.Run() // the exit code says it
			out[rank] = ended{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
		})
	}
	all.Wait()
	return out
}

// cpus is a list of n devices of one thread.
func cpus(n int) string { return strings.Join(slices.Repeat([]string{"cpu:threads=1"}, n), ",") }

// However parts are grouped into ranks, the run folder of rank 0 holds what one process leaves, and nobody else writes anything.
func TestTrainOverRanks(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for k, model := range []string{"gcn", "sage", "gin", "gat"} {
		args := []string{"--dataset", "ok.npz", "--model", model, "--hidden", "8", "--epochs", "6", "--eval-every", "2", "--cache", []string{"jaca", "none"}[k%2]}
		alone := fmt.Sprint("alone-", model)
		want := s.train(append(args, "--devices", cpus(4), "--run-dir", alone)...)
		for _, devices := range [][]int{{2, 2}, {3, 1}, {1, 1, 1, 1}} {
			if k > 0 && len(devices) == 2 && devices[0] == 2 {
				continue
			}
			dir := fmt.Sprint(model, devices)
			run := rankRun{sandbox: s, args: append(args, "--run-dir", dir, "--json", "--quiet"),
				own: func(rank int) []string { return []string{"--devices", cpus(devices[rank])} }}
			for rank, e := range run.over(len(devices)) {
				if e.code != 0 || e.err != "" || (e.out == "") != (rank > 0) {
					t.Fatalf("%s %v: rank %d: exit code %d\n%s%s", model, devices, rank, e.code, e.out, e.err)
				}
				if rank > 0 {
					continue
				}
				got := readResultLine(t, e.out)
				if got.SHA256 != want.SHA256 || *got.Test != *want.Test || got.Parts != 4 || !slices.Equal(got.Devices, want.Devices) {
					t.Errorf("%s %v: weights %s, test score %v, %d parts on %v; alone %s, %v, %v", model, devices, got.SHA256, *got.Test, got.Parts, got.Devices,
						want.SHA256, *want.Test, want.Devices)
				}
			}
			for _, name := range []string{"plan.bin", "last.safetensors", "model.safetensors", "config.yaml"} {
				one, err := os.ReadFile(s.path(alone + "/" + name))
				if err != nil {
					t.Fatal(err)
				}
				if several, err := os.ReadFile(s.path(dir + "/" + name)); err != nil || !bytes.Equal(one, several) {
					t.Errorf("%s %v: %s differs (%v)\n%s\n%s", model, devices, name, err, several, one)
				}
			}
		}
	}
}
