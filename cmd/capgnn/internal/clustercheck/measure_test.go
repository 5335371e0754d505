package clustercheck

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/cluster/tcp"
	"capgnn/cmd/capgnn/internal/term"
)

// overRanks runs do at every rank of a group on this machine.
func overRanks(t *testing.T, ranks int, do func(g *tcp.Group) error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for rank := range ranks {
		all.Go(func() {
			g, err := tcp.Join(ctx, tcp.Options{Rank: rank, Ranks: ranks, Master: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Host: fmt.Sprint("h", rank)})
			if err != nil {
				t.Errorf("rank %d: %v", rank, err)
				return
			}
			defer g.Close()
			if err := do(g); err != nil {
				t.Errorf("rank %d: %v", rank, g.Fail(err))
			}
		})
	}
	all.Wait()
}

// Every way between two ranks is measured once, from its beginning.
func TestMeasure(t *testing.T) {
	const ranks = 3
	var mu sync.Mutex
	var all []Pair
	overRanks(t, ranks, func(g *tcp.Group) error {
		own, err := measure(t.Context(), g, 1, []string{"a", "b", "b"})
		mu.Lock()
		defer mu.Unlock()
		for _, p := range own {
			if p.From != g.Rank() {
				t.Errorf("rank %d says %+v", g.Rank(), p)
			}
		}
		all = append(all, own...)
		return err
	})
	seen := map[[2]int]bool{}
	for _, p := range all {
		seen[[2]int{p.From, p.To}] = true
		if p.Rate <= 0 || p.Rate > 1e12 || p.RoundTrip <= 0 {
			t.Errorf("%+v", p)
		}
	}
	if len(all) != ranks*(ranks-1) || len(seen) != len(all) {
		t.Errorf("%+v", all)
	}
}

// In a round no machine is in two pairs; all pairs are there once.
func TestRounds(t *testing.T) {
	for _, tc := range []struct {
		hosts string
		want  string
	}{
		{"a", "[]"},
		{"a b", "[[[0 1]]]"},
		{"a a", "[[[0 1]]]"},
		{"a a b b", "[[[0 1] [2 3]] [[0 2]] [[0 3]] [[1 2]] [[1 3]]]"},
		{"a b c d", "[[[0 1] [2 3]] [[0 2] [1 3]] [[0 3] [1 2]]]"},
	} {
		if got := fmt.Sprint(rounds(strings.Fields(tc.hosts))); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.hosts, got, tc.want)
		}
	}
	hosts := strings.Fields("a b b c d e a f g h h h")
	seen := map[[2]int]bool{}
	for i, round := range rounds(hosts) {
		busy := map[string]int{}
		for _, p := range round {
			if seen[p] || p[0] >= p[1] {
				t.Errorf("round %d: %v", i, p)
			}
			seen[p] = true
			for _, h := range slices.Compact([]string{hosts[p[0]], hosts[p[1]]}) {
				if busy[h]++; busy[h] > 1 {
					t.Errorf("round %d: %v: %s is busy twice", i, round, h)
				}
			}
		}
	}
	if len(seen) != len(hosts)*(len(hosts)-1)/2 {
		t.Errorf("%d pairs", len(seen))
	}
}

// A line that goes silent is named, with what helps, as wrong use.
func TestSilentLine(t *testing.T) {
	overRanks(t, 2, func(g *tcp.Group) error {
		s, err := newStation(t.Context(), g)
		if err != nil {
			return err
		}
		s.stall = 300 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), s.stall)
		defer cancel()
		want := "between ranks 0 and 1: no answer within 300ms"
		if g.Rank() == 1 { // it says that much comes, and sends nothing
			s.say(0, loadBytes)
			_, err = s.hear(ctx, 0)
			err = s.stuck(0, signBytes, err)
		} else {
			want = "between ranks 0 and 1: 8.0 MiB did not arrive within 300ms, though smaller messages did: give all machines and switches between them one MTU"
			err = s.follow(ctx, 1)
		}
		if term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("rank %d: %v, want %q", g.Rank(), err, want)
		}
		_, err = g.Gather(t.Context(), 2, nil) // nobody leaves before
		return err
	})
}

// What is announced by a peer does not reach beyond the memory that there is.
func TestLoadIsBounded(t *testing.T) {
	overRanks(t, 2, func(g *tcp.Group) error {
		s, err := newStation(t.Context(), g)
		if err != nil {
			return err
		}
		if g.Rank() == 0 {
			s.say(1, loadBytes+1)
		} else if err := s.follow(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "it announced 8388609 bytes") {
			t.Errorf("%v", err)
		}
		_, err = g.Gather(t.Context(), 2, nil)
		return err
	})
}
