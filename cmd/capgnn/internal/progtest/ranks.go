package progtest

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// CPUs is a list of n devices of one thread.
func CPUs(n int) string { return strings.Join(slices.Repeat([]string{"cpu:threads=1"}, n), ",") }

// FreePort returns a port of this machine on which nobody listens, drawn from those below what systems give to whoever
// asks for any port: such a one may be taken again before rank 0 listens.
func FreePort(t *testing.T) string {
	t.Helper()
	var err error
	for range 100 {
		port := strconv.Itoa(10_000 + rand.IntN(20_000))
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Skipf("no loopback address: %v", err)
	return ""
}

// RankRun is a run over several ranks of this machine.
type RankRun struct {
	*Sandbox
	Port string                  // of rank 0; "": a free one
	Verb string                  // the command; "": train
	Args []string                // of every rank
	Own  func(rank int) []string // of one more
	Env  func(rank int) []string // variables of one more
	// Limit returns a rank that is to run under some limit; nil: there is none.
	Limit func(rank int, args []string) *exec.Cmd
}

// Rank is a process that runs.
type Rank struct {
	*exec.Cmd
	out, err bytes.Buffer
}

// Ended is how a rank ended.
type Ended struct {
	Out, Err string
	Code     int
}

// Last returns the last line that a rank printed to standard error.
func (e Ended) Last() string {
	all := strings.Split(strings.TrimSuffix(e.Err, "\n"), "\n")
	return all[len(all)-1]
}

// Start starts a command as n ranks.
func (r RankRun) Start(n int) []*Rank {
	r.T.Helper()
	if r.Port == "" {
		r.Port = FreePort(r.T)
	}
	all := make([]*Rank, n)
	for rank := range all {
		args := append([]string{cmp.Or(r.Verb, "train")}, r.Args...)
		if r.Own != nil {
			args = append(args, r.Own(rank)...)
		}
		p := &Rank{Cmd: r.Command(args...)}
		if r.Limit != nil {
			p.Cmd = r.Limit(rank, args)
		}
		p.Cmd.Env = append(p.Cmd.Env, "RANK="+strconv.Itoa(rank), "WORLD_SIZE="+strconv.Itoa(n),
			"MASTER_ADDR=127.0.0.1", "MASTER_PORT="+r.Port)
		if r.Env != nil {
			p.Cmd.Env = append(p.Cmd.Env, r.Env(rank)...)
		}
		p.Stdout, p.Stderr = &p.out, &p.err
		if err := p.Cmd.Start(); err != nil {
			r.T.Fatal(err)
		}
		r.T.Cleanup(func() { _ = p.Process.Kill() }) // it has ended, unless the test failed
		all[rank] = p
	}
	return all
}

// End waits for the end of a rank.
func (p *Rank) End() Ended {
	_ = p.Wait() // the exit code says it
	return Ended{p.out.String(), p.err.String(), p.ProcessState.ExitCode()}
}

// Over runs a command as n ranks and returns how each ended.
func (r RankRun) Over(n int) (all []Ended) {
	r.T.Helper()
	for _, p := range r.Start(n) {
		all = append(all, p.End())
	}
	return all
}
