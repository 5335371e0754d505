package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/cluster"
)

var testSecret = []byte("0123456789abcdef0123456789abcdef")

// modes are the ways in which rows travel.
var modes = map[string]Options{
	"open":  {},
	"tls":   {Secret: testSecret},
	"plain": {Secret: testSecret, Plain: true},
	"pipes": {Secret: testSecret, Carry: network{make: pipes}.ask},
}

// network is a Carry of modes: asked for no rank, it gives itself, and joinAll asks it for the streams of all ranks.
type network struct {
	net.Conn
	make func(t testing.TB, ranks int) []func(to int) net.Conn
}

func (n network) ask(int) net.Conn { return n }

// pipes are streams in memory.
func pipes(_ testing.TB, ranks int) []func(to int) net.Conn {
	ends := make([][]net.Conn, ranks)
	for r := range ends {
		ends[r] = make([]net.Conn, ranks)
		for p := range r {
			ends[r][p], ends[p][r] = net.Pipe()
		}
	}
	out := make([]func(to int) net.Conn, ranks)
	for r := range out {
		out[r] = func(to int) net.Conn { return ends[r][to] }
	}
	return out
}

// checkLeaks fails the test if it leaves goroutines or sockets.
func checkLeaks(t *testing.T) {
	t.Helper()
	goroutines, sockets := runtime.NumGoroutine(), countSockets()
	t.Cleanup(func() {
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			g, s := runtime.NumGoroutine(), countSockets()
			if g <= goroutines && s <= sockets {
				return
			}
			if time.Now().After(end) {
				b := make([]byte, 1<<16)
				t.Errorf("%d goroutines and %d sockets in place of %d and %d:\n%s", g, s, goroutines, sockets, b[:runtime.Stack(b, true)])
				return
			}
		}
	})
}

func countSockets() int {
	n := 0
	files, _ := os.ReadDir("/proc/self/fd")
	for _, f := range files {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// freePort is an address of this machine where nobody listens.
func freePort(t testing.TB, ip string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Skipf("no address %s here: %v", ip, err)
	}
	defer l.Close()
	return l.Addr().String()
}

// joinAll joins n ranks of this process; change may change the options of each.
func joinAll(t testing.TB, n int, o Options, change func(rank int, o *Options)) ([]*Group, []error) {
	t.Helper()
	if o.Master == "" {
		o.Master = freePort(t, "127.0.0.1")
	}
	if o.JoinTimeout == 0 {
		o.JoinTimeout = 10 * time.Second
	}
	var streams []func(to int) net.Conn
	if o.Carry != nil {
		streams = o.Carry(-1).(network).make(t, n)
	}
	groups, errs := make([]*Group, n), make([]error, n)
	var wait sync.WaitGroup
	for r := range n {
		o := o
		if streams != nil {
			o.Carry = streams[r]
		}
		o.linger = 200 * time.Millisecond
		o.Rank, o.Ranks, o.Host = r, n, fmt.Sprintf("host%d", r)
		if change != nil {
			change(r, &o)
		}
		wait.Go(func() { groups[r], errs[r] = Join(context.Background(), o) })
	}
	wait.Wait()
	return groups, errs
}

// together joins n ranks, which close at the end of the test.
func together(t testing.TB, n int, o Options, change func(rank int, o *Options)) []*Group {
	t.Helper()
	groups, errs := joinAll(t, n, o, change)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(groups) })
	return groups
}

func closeAll(groups []*Group) []error {
	errs := make([]error, len(groups))
	each(groups, func(g *Group) error { errs[g.Rank()] = g.Close(); return nil })
	return errs
}

// each calls do for all ranks at once and returns what they returned.
func each(groups []*Group, do func(g *Group) error) error {
	errs := make([]error, len(groups))
	var wait sync.WaitGroup
	for i, g := range groups {
		wait.Go(func() { errs[i] = do(g) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// announce gives all ranks a table.
func announce(t testing.TB, groups []*Group, list []cluster.Area) {
	t.Helper()
	if err := each(groups, func(g *Group) error { return g.Announce(context.Background(), list) }); err != nil {
		t.Fatal(err)
	}
}

func TestJoinAndLeave(t *testing.T) {
	for name, o := range modes {
		for _, n := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				checkLeaks(t)
				groups := together(t, n, o, nil)
				for r, g := range groups {
					if g.Rank() != r || g.Ranks() != n || len(g.Members()) != n || g.Members()[n-1].Host != fmt.Sprintf("host%d", n-1) {
						t.Errorf("rank %d is %d of %d, members %+v", r, g.Rank(), g.Ranks(), g.Members())
					}
				}
				for r, err := range closeAll(groups) {
					if err != nil {
						t.Errorf("rank %d closes with %v", r, err)
					}
				}
			})
		}
	}
}

func TestJoinOverIPv6(t *testing.T) {
	checkLeaks(t)
	together(t, 3, Options{Secret: testSecret, Master: freePort(t, "::1")}, nil)
}

func TestJoinByName(t *testing.T) {
	checkLeaks(t)
	_, port, _ := net.SplitHostPort(freePort(t, "127.0.0.1"))
	together(t, 2, Options{Secret: testSecret, Master: "localhost:" + port}, nil)
}

// Rows of several areas, sizes and epochs arrive in their areas, in both directions of all pairs, also before the reader expects them.
func TestRows(t *testing.T) {
	for name, o := range modes {
		t.Run(name, func(t *testing.T) {
			checkLeaks(t)
			sizes := []int{0, 1, 1000, cluster.MaxFrame, cluster.MaxFrame + 1, 3*cluster.MaxFrame - 5}
			var list []cluster.Area
			for from := range 3 {
				for to := range 3 {
					for k, n := range sizes {
						if from != to {
							list = append(list, cluster.Area{From: from, To: to, Number: uint32(10 * k), Bytes: n})
						}
					}
				}
			}
			groups := together(t, 3, o, nil)
			announce(t, groups, list)
			const epochs = 5
			if err := each(groups, func(g *Group) error { return exchange(g, list, epochs) }); err != nil {
				t.Fatal(err)
			}
			want := int64(0)
			for _, n := range sizes {
				want += int64(n) * epochs
			}
			for r, g := range groups {
				for p, c := range g.Traffic() {
					if p != r && (c.Sent != want || c.Received != want || c.SentFrames < want+epochs*int64(len(sizes))*cluster.HeaderBytes) {
						t.Errorf("rank %d with %d: %+v, want %d", r, p, c, want)
					}
				}
			}
		})
	}
}

// pattern is what rows of an area hold in an epoch.
func pattern(a cluster.Area, epoch uint32, i int) byte {
	return byte(a.From*7 + a.To*13 + int(a.Number)*3 + int(epoch)*31 + i + i>>8)
}

// exchange sends and checks all areas of a rank, in pieces that differ.
func exchange(g *Group, list []cluster.Area, epochs uint32) error {
	var wait sync.WaitGroup
	errs := make(chan error, 1000)
	for _, a := range list {
		if a.To == g.Rank() {
			into := make([]byte, a.Bytes)
			his := make(chan [2]int, 100)
			wait.Go(func() { errs <- readAll(g, a, into, his, epochs) })
			g.Expect(a.From, a.Number, into, func(epoch uint32, hi int) { his <- [2]int{int(epoch), hi} })
		}
		if a.From == g.Rank() {
			wait.Go(func() { errs <- sendAll(g, a, epochs) })
		}
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func readAll(g *Group, a cluster.Area, into []byte, his <-chan [2]int, epochs uint32) error {
	for epoch := uint32(1); epoch <= epochs; epoch++ {
		for hi := -1; hi < a.Bytes; {
			select {
			case h := <-his:
				if h[0] != int(epoch) || h[1] < hi {
					return fmt.Errorf("rank %d area %+v: arrived %v after %d of epoch %d", g.Rank(), a, h, hi, epoch)
				}
				hi = h[1]
			case <-g.Done():
				return g.Err()
			}
		}
		for i, b := range into {
			if b != pattern(a, epoch, i) {
				return fmt.Errorf("rank %d area %+v epoch %d: byte %d is %d", g.Rank(), a, epoch, i, b)
			}
		}
		g.Taken(a.From, a.Number, epoch)
	}
	return nil
}

func sendAll(g *Group, a cluster.Area, epochs uint32) error {
	sent := make(chan error, 10)
	buffers := [2][]byte{make([]byte, a.Bytes), make([]byte, a.Bytes)}
	calls := 0
	for epoch := uint32(1); epoch <= epochs; epoch++ {
		b := buffers[epoch%2]
		for ; calls > 0; calls-- {
			if err := <-sent; err != nil {
				return err
			}
		}
		for i := range b {
			b[i] = pattern(a, epoch, i)
		}
		cut := a.Bytes * int(epoch) / 7 // two pieces
		for _, p := range [][2]int{{0, cut}, {cut, a.Bytes}} {
			if p[0] < p[1] || p[0] == 0 && (cut > 0 || p[1] == cut) {
				g.Send(a.To, a.Number, epoch, p[0], b[p[0]:p[1]], func(err error) { sent <- err })
				calls++
			}
			if cut == a.Bytes {
				break
			}
		}
	}
	for ; calls > 0; calls-- {
		if err := <-sent; err != nil {
			return err
		}
	}
	return nil
}
