package tcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"capgnn/cluster"
)

// readying is a connection that calls then when its rank says that it has all its data connections, and does what it returns.
type readying struct {
	net.Conn
	then func() error
}

func (c readying) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte{'c', 'g', 'n', 'f', byte(cluster.Ready)}) {
		if err := c.then(); err != nil {
			c.Conn.Close()
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// joinUntil joins three ranks, with what happens when rank 2 is ready: then, which may end its context.
func joinUntil(t *testing.T, then func(stop func()) error) (groups [3]*Group, errs [3]error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	master := freePort(t, "127.0.0.1")
	var all sync.WaitGroup
	for r := range groups {
		o, ctx := Options{Rank: r, Ranks: 3, Master: master, Host: "h", JoinTimeout: 10 * time.Second, linger: 10 * time.Millisecond}, ctx
		if r == 2 {
			o.wrap = func(c *net.TCPConn) net.Conn { return readying{c, func() error { return then(stop) }} }
		} else {
			ctx = t.Context()
		}
		all.Go(func() { groups[r], errs[r] = Join(ctx, o) })
	}
	all.Wait()
	return groups, errs
}

// A rank that ends while others join is lost, which is no fault of what the others were told.
func TestLostWhileJoining(t *testing.T) {
	checkLeaks(t)
	_, errs := joinUntil(t, func(func()) error { return io.ErrClosedPipe })
	const want = "rank 2 (host h) was lost while ranks joined: connection closed"
	for r, err := range errs[:2] {
		var refused *Refused
		if !errors.As(err, &refused) || !refused.Lost || refused.Line != want {
			t.Errorf("rank %d: %+v, want the loss %q", r, err, want)
		}
	}
}

// A rank that is stopped when the others count on it joins, so that it can tell them.
func TestStoppedWhileTheOthersStart(t *testing.T) {
	checkLeaks(t)
	groups, errs := joinUntil(t, func(stop func()) error { stop(); return nil })
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	_ = groups[2].Fail(errors.New("interrupted"))
	wantEnd(t, groups[:], "rank 2 (host h) failed before the first epoch: interrupted")
	closeAll(groups[:])
}
