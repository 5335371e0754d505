//go:build unix

package tcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/internal/long"
)

// processVariable makes this test binary a rank: rank, ranks, master, and what it does.
const processVariable = "CAPGNN_TEST_RANK"

func TestMain(m *testing.M) {
	if text := os.Getenv(processVariable); text != "" {
		os.Exit(process(strings.Fields(text)))
	}
	os.Exit(m.Run())
}

// process trains nothing: in every epoch it exchanges rows and numbers with the others. It prints each epoch and why it ends.
func process(args []string) int {
	rank, _ := strconv.Atoi(args[0])
	ranks, _ := strconv.Atoi(args[1])
	epochs, _ := strconv.Atoi(args[3])
	o := Options{Rank: rank, Ranks: ranks, Master: args[2], Host: "h" + args[0], Secret: testSecret, JoinTimeout: 20 * time.Second,
		PeerTimeout: time.Second, Waits: func() string { return "rows" }}
	g, err := Join(context.Background(), o)
	if err == nil {
		err = epochsOf(g, epochs, func(epoch uint32) {
			fmt.Println("epoch", epoch)
			time.Sleep(5 * time.Millisecond)
		})
		err = errors.Join(err, g.Close())
	}
	if err != nil {
		fmt.Println("end", strings.Split(err.Error(), "\n")[0])
		return 4
	}
	fmt.Println("end well")
	return 0
}

// epochsOf exchanges rows and numbers in so many epochs, and calls then behind each.
func epochsOf(g *Group, epochs int, then func(epoch uint32)) error {
	var list []cluster.Area
	for from := range g.Ranks() {
		for to := range g.Ranks() {
			if from != to {
				list = append(list, cluster.Area{From: from, To: to, Number: 4, Bytes: 100_000})
			}
		}
	}
	if err := g.Announce(context.Background(), list); err != nil {
		return err
	}
	whole := make(chan int, 100)
	for r := range g.Ranks() {
		if r != g.Rank() {
			g.Expect(r, 4, make([]byte, 100_000), func(_ uint32, hi int) {
				if hi == 100_000 {
					whole <- r
				}
			})
		}
	}
	b := make([]byte, 100_000)
	for epoch := uint32(0); int(epoch) < epochs; epoch++ {
		g.SetEpoch(epoch)
		for r := range g.Ranks() {
			if r != g.Rank() {
				g.Send(r, 4, epoch, 0, b, nil)
			}
		}
		for range g.Ranks() - 1 {
			select {
			case r := <-whole:
				g.Taken(r, 4, epoch)
			case <-g.Done():
				return g.Err()
			}
		}
		if _, err := g.Gather(context.Background(), epoch, []byte("loss")); err != nil {
			return err
		}
		if _, err := g.Broadcast(context.Background(), epoch, nil); err != nil {
			return err
		}
		then(epoch)
	}
	return nil
}

// child is a rank in a process of its own.
type child struct {
	*exec.Cmd
	lines chan string // what it prints; closed at its end
}

func startProcesses(t *testing.T, ranks, epochs int) []child {
	t.Helper()
	master := freePort(t, "127.0.0.1")
	out := make([]child, ranks)
	for r := range out {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s %d", processVariable, r, ranks, master, epochs))
		cmd.Stderr = os.Stderr
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c := child{cmd, make(chan string, 10000)}
		go func() { // ends with the process
			for s := bufio.NewScanner(pipe); s.Scan(); {
				c.lines <- s.Text()
			}
			close(c.lines)
		}()
		t.Cleanup(func() {
			c.Process.Kill()
			c.Wait()
		})
		out[r] = c
	}
	return out
}

// until reads lines of a process up to one that begins so.
func (c child) until(t *testing.T, prefix string) string {
	t.Helper()
	for line := range c.lines {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	t.Fatalf("the process ended before it printed %q", prefix)
	return ""
}

func TestProcesses(t *testing.T) {
	children := startProcesses(t, 2, 20)
	for r, c := range children {
		if line := c.until(t, "end"); line != "end well" {
			t.Errorf("rank %d: %s", r, line)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// A process that is killed, or stopped, is named by all others.
func TestProcessIsLost(t *testing.T) {
	for _, tc := range []struct {
		name   string
		signal syscall.Signal
		victim int
		want   string // %d: who says so
	}{
		{"kill", syscall.SIGKILL, 1, "end rank 1 (host h1) lost in epoch "},
		{"kill rank 0", syscall.SIGKILL, 0, "end rank 0 (host h0) lost in epoch "},
		{"stop", syscall.SIGSTOP, 2, "end rank 2 (host h2) lost in epoch "},
	} {
		if tc.signal == syscall.SIGSTOP && !long.Wanted() {
			continue // TestSilence is the same in one process
		}
		t.Run(tc.name, func(t *testing.T) {
			children := startProcesses(t, 3, 100000)
			for _, c := range children {
				c.until(t, "epoch 3")
			}
			start := time.Now()
			if err := children[tc.victim].Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			lines := map[string]bool{}
			for r, c := range children {
				if r == tc.victim {
					continue
				}
				line := c.until(t, "end")
				if !strings.HasPrefix(line, tc.want) || !strings.HasSuffix(line, " waited for rows") {
					t.Errorf("rank %d: %s", r, line)
				}
				lines[line] = true
				var exit *exec.ExitError
				if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 4 {
					t.Errorf("rank %d: %v", r, err)
				}
			}
			t.Logf("after %v: %v", time.Since(start).Round(time.Millisecond), lines)
			if tc.victim != 0 && len(lines) != 1 {
				t.Errorf("the others differ: %v", lines)
			}
		})
	}
}
