package main

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"capgnn/internal/long"
	"capgnn/profiler"
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
	verb string                  // the command; "": train
	args []string                // of every rank
	own  func(rank int) []string // of one more
	env  func(rank int) []string // variables of one more
	// limit returns a rank that is to run under some limit; nil: there is none.
	limit func(rank int, args []string) *exec.Cmd
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

// rankProcess is a rank that runs.
type rankProcess struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

// start starts a command as n ranks.
func (r rankRun) start(n int) []*rankProcess {
	r.t.Helper()
	if r.port == "" {
		r.port = freePort(r.t)
	}
	all := make([]*rankProcess, n)
	for rank := range all {
		args := append([]string{cmp.Or(r.verb, "train")}, r.args...)
		if r.own != nil {
			args = append(args, r.own(rank)...)
		}
		p := &rankProcess{cmd: r.command(args...)}
		if r.limit != nil {
			p.cmd = r.limit(rank, args)
		}
		p.cmd.Env = append(p.cmd.Env, "RANK="+strconv.Itoa(rank), "WORLD_SIZE="+strconv.Itoa(n), "MASTER_ADDR=127.0.0.1", "MASTER_PORT="+r.port)
		if r.env != nil {
			p.cmd.Env = append(p.cmd.Env, r.env(rank)...)
		}
		p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
		if err := p.cmd.Start(); err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it has ended, unless the test failed
		all[rank] = p
	}
	return all
}

// end waits for the end of a rank.
func (p *rankProcess) end() ended {
	_ = p.cmd.Wait() // the exit code says it
	return ended{p.out.String(), p.err.String(), p.cmd.ProcessState.ExitCode()}
}

// over runs a command as n ranks and returns how each ended.
func (r rankRun) over(n int) (all []ended) {
	r.t.Helper()
	for _, p := range r.start(n) {
		all = append(all, p.end())
	}
	return all
}

// cpus is a list of n devices of one thread.
func cpus(n int) string { return strings.Join(slices.Repeat([]string{"cpu:threads=1"}, n), ",") }

// However parts are grouped into ranks, the run folder of rank 0 holds what one process leaves, and nobody else writes anything.
func TestTrainOverRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for k, model := range []string{"gcn", "sage", "gin", "gat"} {
		args := []string{"--dataset", "ok.npz", "--model", model, "--hidden", "8", "--epochs", "6", "--eval-every", "2", "--cache", []string{"jaca", "none"}[k%2]}
		if model == "gat" {
			args = append(args, "--attention-dropout", "0.4")
		}
		alone := fmt.Sprint("alone-", model)
		want := s.train(append(args, "--devices", cpus(4), "--run-dir", alone)...)
		for i, devices := range [][]int{{2, 2}, {3, 1}, {1, 1, 1, 1}} {
			if k > 0 && (i == 0 || !long.Nth(t, 2, k+i)) {
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

// slower gives the device of a profile the times of another's, multiplied: on a busy machine, measured ones may say that the slow one is not slower.
func (s *sandbox) slower(of, profile string, factor float64) {
	s.t.Helper()
	base, err := profiler.Read(s.path(of))
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := profiler.Read(s.path(profile))
	if err != nil {
		s.t.Fatal(err)
	}
	times := func(t profiler.Timing) profiler.Timing {
		t.Mean, t.Std, t.Median = factor*t.Mean, factor*t.Std, factor*t.Median
		return t
	}
	p.Devices[0].MM, p.Devices[0].SpMM = times(base.Devices[0].MM), times(base.Devices[0].SpMM)
	if err := p.Write(s.path(profile)); err != nil {
		s.t.Fatal(err)
	}
}

// Ranks with unequal devices share the work by what each has measured of its own; one process repeats their run to the bit, and so do they.
func TestUnequalRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	devices := []string{"cpu:threads=1,link=4GiB/s", "cpu:threads=1,slow=4,link=1GiB/s"}
	for rank, d := range devices {
		s.must("profile", "--quick", "--quiet", "--devices", d, "--out", fmt.Sprintf("profile%d.json", rank))
	}
	s.slower("profile0.json", "profile1.json", 4)
	own := func(rank int) []string {
		return []string{"--devices", devices[rank], "--profile", fmt.Sprintf("profile%d.json", rank)}
	}
	args := []string{"--hidden", "8", "--epochs", "4", "--quiet", "--json"}
	first := (rankRun{sandbox: s, args: append(args, "--dataset", "ok.npz", "--run-dir", "first"), own: own}).over(2)[0]
	if first.code != 0 {
		t.Fatalf("exit code %d\n%s", first.code, first.err)
	}
	want := readResultLine(t, first.out)
	config, err := os.ReadFile(s.path("first/config.yaml"))
	if err != nil || !strings.Contains(string(config), "cache-links: ") || strings.Contains(string(config), "cache-links: \"\"") || strings.Contains(string(config), "targets: equal") {
		t.Errorf("the devices count as equal: %v\n%s", err, config)
	}
	again := (rankRun{sandbox: s, args: []string{"--config", "first/config.yaml", "--run-dir", "again", "--quiet", "--json"}, own: func(rank int) []string { return own(rank)[:2] }}).over(2)[0]
	if again.code != 0 || readResultLine(t, again.out).SHA256 != want.SHA256 {
		t.Errorf("repeated: exit code %d\n%s%s", again.code, again.out, again.err)
	}
	if repeated, err := os.ReadFile(s.path("again/config.yaml")); err != nil || !bytes.Equal(repeated, config) {
		t.Errorf("repeated by other settings: %v\n%s\n%s", err, repeated, config)
	}
	if alone := s.train("--config", "first/config.yaml", "--run-dir", "alone"); alone.SHA256 != want.SHA256 {
		t.Errorf("one process: weights %s, ranks %s", alone.SHA256, want.SHA256)
	}
}

// Ranks with other devices than a config file names cut as many parts as they have, or as many as --parts says.
func TestPartsBesideConfigOverRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	want := s.train("--dataset", "ok.npz", "--run-dir", "first", "--hidden", "8", "--epochs", "2", "--devices", cpus(3))
	for _, parts := range []string{"", "3"} {
		args := []string{"--config", "first/config.yaml", "--run-dir", "again" + parts, "--devices", cpus(1), "--quiet", "--json"}
		if parts != "" {
			args = append(args, "--parts", parts)
		}
		again := (rankRun{sandbox: s, args: args}).over(2)[0]
		if again.code != 0 {
			t.Fatalf("--parts %q: exit code %d\n%s", parts, again.code, again.err)
		}
		if same := readResultLine(t, again.out).SHA256 == want.SHA256; same != (parts == "3") {
			t.Errorf("--parts %q: equal weights: %t\n%s", parts, same, again.out)
		}
	}
}
