package ranks

import (
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// piped is a rank whose streams are pipes.
type piped struct {
	rank  int
	conns []net.Conn
}

func (p piped) Rank() int                       { return p.rank }
func (p piped) Ranks() int                      { return len(p.conns) }
func (p piped) Library() string                 { return "pipes" }
func (p piped) Conn(rank int) net.Conn          { return p.conns[rank] }
func (p piped) Close(bool, time.Duration) error { return nil }

func TestRanksMeet(t *testing.T) {
	root := piped{0, make([]net.Conn, 3)}
	others := make([]piped, 3)
	for r := 1; r < 3; r++ {
		others[r] = piped{r, make([]net.Conn, 3)}
		root.conns[r], others[r].conns[0] = net.Pipe()
	}
	got := make([]string, 3)
	errs := make([]error, 3)
	var all sync.WaitGroup
	for r, c := range []piped{root, others[1], others[2]} {
		all.Go(func() { got[r], errs[r] = meet(c, "1234", time.Now().Add(10*time.Second)) })
	}
	all.Wait()
	for r := range got {
		if errs[r] != nil || got[r] != "127.0.0.1:1234" { // all are on this machine
			t.Errorf("rank %d: %q, %v", r, got[r], errs[r])
		}
	}
	lost := piped{0, make([]net.Conn, 2)}
	lost.conns[1], _ = net.Pipe()
	if at, err := meet(lost, "", time.Now().Add(20*time.Millisecond)); err == nil {
		t.Errorf("rank 1 says nothing, and rank 0 is at %s", at)
	}
}

func TestHome(t *testing.T) {
	at := func(machine string, addresses ...string) standing {
		s := standing{Machine: machine}
		for _, a := range addresses {
			s.Addresses = append(s.Addresses, netip.MustParsePrefix(a))
		}
		return s
	}
	const docker = "172.17.0.1/16"
	for _, tc := range []struct {
		name string
		all  []standing
		want string
	}{
		{"one machine", []standing{at("a", "10.0.0.1/24"), at("a", "10.0.0.1/24")}, "127.0.0.1"},
		{"one network", []standing{at("a", "10.0.0.1/24"), at("b", "10.0.0.2/24")}, "10.0.0.1"},
		{"containers before it", []standing{at("a", docker, "10.0.0.1/24"), at("b", docker, "10.0.0.2/24")}, "10.0.0.1"},
		{"two networks, one of them of all", []standing{at("a", "10.0.0.1/24", "10.1.0.1/24"), at("b", "10.0.0.2/24", "10.1.0.2/24"), at("c", "10.1.0.3/24"), at("a", "10.0.0.1/24")}, "10.1.0.1"},
		{"routers between", []standing{at("a", "10.0.0.1/24"), at("b", "10.9.0.2/24")}, "10.0.0.1"},
		{"IPv6", []standing{at("a", "2001:db8::1/64"), at("b", "2001:db8::2/64")}, "2001:db8::1"},
		{"no network", []standing{at("a"), at("b", "10.0.0.1/24")}, ""},
	} {
		if got := home(tc.all); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
