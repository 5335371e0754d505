package tcp

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"capgnn/cluster"
)

// wantEnd fails unless all these ranks end with this line. Other reasons than silence come at once, as PeerTimeout is longer than a test.
func wantEnd(t *testing.T, groups []*Group, want string) {
	t.Helper()
	for _, g := range groups {
		<-g.Done()
		var ended *Ended
		if !errors.As(g.Err(), &ended) || ended.Line != want {
			t.Errorf("rank %d ends with\n\t%v, want\n\t%s", g.Rank(), g.Err(), want)
		}
	}
}

// die closes all connections of a rank at once, as the system does for a process that is killed.
func die(g *Group) {
	for _, l := range g.links() {
		l.raw.Close()
	}
}

func TestFailIsNamedEverywhere(t *testing.T) {
	for _, rank := range []int{0, 1, 2} {
		checkLeaks(t)
		groups := together(t, 3, Options{Secret: testSecret}, nil)
		for _, g := range groups {
			g.SetEpoch(12)
		}
		err := groups[rank].Fail(errors.New("device cpu:0:\nout of memory"))
		want := groups[rank].members[rank].name() + " failed in epoch 12: device cpu:0: out of memory"
		if err == nil || err.Error() != want {
			t.Errorf("Fail returns %v", err)
		}
		wantEnd(t, groups, want)
		closeAll(groups)
	}
}

func TestLossIsNamedEverywhere(t *testing.T) {
	for name, o := range modes {
		t.Run(name, func(t *testing.T) {
			checkLeaks(t)
			groups := together(t, 4, o, func(r int, o *Options) {
				o.Waits = func() string { return "halo rows of layer 1 forward" }
			})
			for _, g := range groups {
				g.SetEpoch(12)
			}
			die(groups[2])
			rest := []*Group{groups[0], groups[1], groups[3]}
			for _, g := range rest {
				<-g.Done()
			}
			text := groups[0].Err().Error()
			if !strings.HasPrefix(text, "rank 2 (host host2) lost in epoch 12: connection closed; rank ") ||
				!strings.HasSuffix(text, " waited for halo rows of layer 1 forward") {
				t.Errorf("rank 0 ends with %s", text)
			}
			wantEnd(t, rest, text)
		})
	}
}

// Without rank 0 each rank names it.
func TestLossOfRank0(t *testing.T) {
	checkLeaks(t)
	groups := together(t, 3, Options{}, nil)
	die(groups[0])
	wantEnd(t, groups[1:2], "rank 0 (host host0) lost before the first epoch: connection closed; seen by rank 1 (host host1)")
	wantEnd(t, groups[2:], "rank 0 (host host0) lost before the first epoch: connection closed; seen by rank 2 (host host2)")
}

// A loss that another rank's fault explains gives way to it: the rank that fails closes its connections without waiting.
func TestFaultBeforeItsEcho(t *testing.T) {
	checkLeaks(t)
	groups := together(t, 3, Options{}, nil)
	groups[0].linkFault(groups[0].data[1], errors.New("broken")) // what rank 0 notices first
	time.Sleep(settle / 4)
	go groups[2].Fail(errors.New("disk full")) // ends with the verdict
	wantEnd(t, groups, "rank 2 (host host2) failed before the first epoch: disk full")
}

// What carries rows fails at a rank: that is its fault, unless another rank is lost, from which it may follow.
func TestCarrierFails(t *testing.T) {
	for _, loss := range []bool{false, true} {
		checkLeaks(t)
		groups := together(t, 3, modes["pipes"], nil)
		groups[1].linkFault(groups[1].data[2], errors.New("MPI: broken"))
		want, rest := "rank 1 (host host1) failed before the first epoch: MPI: broken", groups
		if loss {
			want, rest = "rank 2 (host host2) lost before the first epoch: connection closed", groups[:2]
			time.Sleep(settle / 4)
			die(groups[2])
		}
		wantEnd(t, rest, want)
		closeAll(groups)
	}
}

// gate is a connection that lets nothing through while it is closed: a cut link.
type gate struct {
	net.Conn // not a TCPConn, whose vectored writes would go past Write
	cut      *atomic.Bool
	over     <-chan struct{} // closed at the end of the test
}

func (g gate) Read(b []byte) (int, error) {
	for {
		n, err := g.Conn.Read(b)
		if err != nil || !g.cut.Load() {
			return n, err
		}
	}
}

func (g gate) Write(b []byte) (int, error) {
	if g.cut.Load() {
		return len(b), nil
	}
	return g.Conn.Write(b)
}

// Close sends nothing either; the other side is still connected until the test is over.
func (g gate) Close() error {
	if !g.cut.Load() {
		return g.Conn.Close()
	}
	go func() {
		<-g.over
		g.Conn.Close()
	}()
	return g.Conn.SetDeadline(time.Unix(1, 0))
}

// A rank whose links are cut is lost after PeerTimeout, and finds itself alone at the same time.
func TestSilence(t *testing.T) {
	checkLeaks(t)
	const silence = 800 * time.Millisecond
	var cut atomic.Bool
	over := make(chan struct{})
	defer close(over)
	groups := together(t, 3, Options{PeerTimeout: silence}, func(r int, o *Options) {
		if r == 2 {
			o.wrap = func(c *net.TCPConn) net.Conn { return gate{c, &cut, over} }
		}
	})
	time.Sleep(silence + silence/4)
	for r, g := range groups {
		if err := g.Err(); err != nil {
			t.Fatalf("rank %d ends although all give signs of life: %v", r, err)
		}
	}
	cut.Store(true)
	start := time.Now()
	wantEnd(t, groups[:1], groups[0].waitEnd(t))
	wantEnd(t, groups[1:2], groups[0].Err().Error())
	if s := groups[0].Err().Error(); !strings.HasPrefix(s, "rank 2 (host host2) lost before the first epoch: no sign of life for 800ms") {
		t.Errorf("rank 0 ends with %s", s)
	}
	t.Logf("the others ended after %v", time.Since(start))
	<-groups[2].Done()
	if s := groups[2].Err().Error(); !strings.Contains(s, "lost before the first epoch: no sign of life for 800ms") {
		t.Errorf("rank 2 ends with %s", s)
	}
}

func (g *Group) waitEnd(t *testing.T) string {
	select {
	case <-g.Done():
		return g.Err().Error()
	case <-time.After(5 * time.Second):
		t.Fatalf("rank %d lives", g.Rank())
	}
	return ""
}

// What was not sent is answered with the verdict, and so is every call that waits.
func TestEndAnswersAll(t *testing.T) {
	checkLeaks(t)
	groups := together(t, 2, Options{Secret: testSecret}, nil)
	announce(t, groups, []cluster.Area{{From: 0, To: 1, Number: 1, Bytes: 8 << 20}, {From: 0, To: 1, Number: 2, Bytes: 4}})
	groups[1].Expect(0, 1, make([]byte, 8<<20), func(uint32, int) {})
	answers := make(chan error, 10)
	sent := func(err error) { answers <- err }
	big := make([]byte, 8<<20)
	groups[0].Send(1, 2, 1, 0, big[:4], sent) // nobody expects it
	groups[0].Send(1, 2, 2, 0, big[:4], sent)
	groups[0].Send(1, 1, 1, 0, big[:len(big)/2], nil)
	groups[0].Send(1, 1, 1, len(big)/2, big[len(big)/2:], sent)
	groups[0].Send(1, 1, 2, 0, big, sent) // never taken
	if err := <-answers; err != nil {
		t.Errorf("the first message of area 1: %v", err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		_, err := groups[0].Gather(context.Background(), 1, nil)
		answers <- err
	})
	time.Sleep(20 * time.Millisecond)
	want := "rank 1 (host host1) failed before the first epoch: full"
	groups[1].Fail(errors.New("full"))
	for range 4 {
		if err := <-answers; err == nil || err.Error() != want {
			t.Errorf("answered with %v", err)
		}
	}
	groups[0].Send(1, 2, 3, 0, big[:4], sent)
	if err := <-answers; err == nil || err.Error() != want {
		t.Errorf("Send after the end: %v", err)
	}
	wait.Wait()
}

// The cause of a loss is in words, without addresses.
func TestCause(t *testing.T) {
	in := func(no syscall.Errno) error {
		return &net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 77, 0, 1), Port: 29500}, Err: os.NewSyscallError("read", no)}
	}
	for want, err := range map[string]error{
		"connection closed":         in(syscall.ECONNRESET),
		"no acknowledgement for 5s": in(syscall.ETIMEDOUT),
		"network is unreachable":    in(syscall.ENETUNREACH),
		"no sign of life for 5s":    &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded},
		"tls: bad record MAC":       errors.New("tls: bad record MAC"),
		"connection closed ":        io.ErrUnexpectedEOF,
		"no route to host":          in(syscall.EHOSTUNREACH),
	} {
		if got := cause(err, 5*time.Second); got != strings.TrimSpace(want) {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
