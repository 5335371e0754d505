//go:build unix

package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"capgnn/cluster"
)

// machines joins the ranks of scripts/netlab, of which this process is one:
//
//	go test -c -o /var/tmp/tcp.test ./cluster/tcp && scripts/netlab -- /var/tmp/tcp.test -test.v -test.run TestMachines
func machines(t *testing.T, o Options) *Group {
	t.Helper()
	if os.Getenv("MASTER_ADDR") != "node0" { // or whoever calls the tests is himself a rank of something
		t.Skip("one machine: scripts/netlab makes several")
	}
	place, err := cluster.Find(cluster.Flags{}, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	o.Rank, o.Ranks, o.Master, o.JoinTimeout, o.PeerTimeout = place.Rank, place.Ranks, place.Master, 20*time.Second, 10*time.Second
	g, err := Join(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Machines with names and addresses of their own exchange rows, encrypted and in plain, and count the same.
func TestMachines(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			g := machines(t, Options{Secret: testSecret, Plain: plain})
			hosts := map[string]bool{}
			for _, m := range g.Members() {
				hosts[m.Host] = true
			}
			if len(hosts) != g.Ranks() {
				t.Errorf("%d ranks are on hosts %v", g.Ranks(), hosts)
			}
			const epochs = 20
			if err := errors.Join(epochsOf(g, epochs, func(uint32) {}), g.Close()); err != nil {
				t.Fatal(err)
			}
			for r, x := range g.Traffic() {
				if want := int64(epochs * 100_000); r != g.Rank() && (x.Sent != want || x.Received != want) {
					t.Errorf("rank %d sent rank %d %d bytes and received %d, want %d", g.Rank(), r, x.Sent, x.Received, want)
				}
			}
		})
	}
}

// The rate of rows from rank 0 to rank 1 beside a bare copy loop, in turn. CAPGNN_PAIRS says how often:
//
//	CAPGNN_PAIRS=9 scripts/netlab -- /var/tmp/tcp.test -test.v -test.run TestRateOfMachines
func TestRateOfMachines(t *testing.T) {
	pairs, _ := strconv.Atoi(os.Getenv("CAPGNN_PAIRS"))
	if pairs < 1 {
		t.Skip("CAPGNN_PAIRS is not set")
	}
	for _, plain := range []bool{true, false} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			g := machines(t, Options{Secret: testSecret, Plain: plain})
			m := newMeasure(t, g)
			var ratios, ours, bare, ourCPU, bareCPU []float64
			for k := range pairs + 1 {
				x, c := m.take(m.rows)
				y, d := m.take(m.copy)
				if k > 0 { // the first pair warms up
					ratios, ours, bare, ourCPU, bareCPU = append(ratios, y/x), append(ours, x), append(bare, y), append(ourCPU, c), append(bareCPU, d)
				}
			}
			if g.Rank() < 2 {
				gb := rateVolume / 1e9
				t.Logf("rank %d: %.3f of a bare loop; %.2f GB/s against %.2f; CPU-seconds per GB %.3f against %.3f", g.Rank(),
					median(ratios), gb/median(ours), gb/median(bare), median(ourCPU)/gb, median(bareCPU)/gb)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// measure is one end of a measurement between ranks 0 and 1.
type measure struct {
	t     *testing.T
	g     *Group
	bare  net.Conn
	epoch uint32
	whole [2]chan uint32 // messages of each area that came whole, at rank 1
	done  chan struct{}  // at rank 0: rank 1 has all
	mem   []byte
}

func newMeasure(t *testing.T, g *Group) *measure {
	m := &measure{t: t, g: g, mem: make([]byte, 2*rateArea), done: make(chan struct{}, 1)}
	areas := []cluster.Area{{From: 0, To: 1, Bytes: rateArea}, {From: 0, To: 1, Number: 1, Bytes: rateArea}, {From: 1, To: 0, Bytes: 1}}
	if err := g.Announce(context.Background(), areas); err != nil {
		t.Fatal(err)
	}
	var l net.Listener
	var err error
	port := ""
	if g.Rank() == 0 {
		if l, err = net.Listen("tcp", ":0"); err != nil {
			t.Fatal(err)
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		g.Expect(1, 0, make([]byte, 1), func(epoch uint32, _ int) {
			g.Taken(1, 0, epoch)
			m.done <- struct{}{}
		})
	}
	b, err := g.Broadcast(context.Background(), 1, []byte(port))
	if err != nil {
		t.Fatal(err)
	}
	switch g.Rank() {
	case 0:
		m.bare, err = l.Accept()
		l.Close()
	case 1:
		host, _, _ := net.SplitHostPort(g.control[0].raw.RemoteAddr().String())
		m.bare, err = net.Dial("tcp", net.JoinHostPort(host, string(b)))
		for area := range uint32(2) {
			m.whole[area] = make(chan uint32, 1)
			g.Expect(0, area, m.mem[area*rateArea:][:rateArea], func(epoch uint32, hi int) {
				if hi == rateArea {
					g.Taken(0, area, epoch)
					m.whole[area] <- epoch
				}
			})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// take returns the seconds of one measurement and the processor time of this end.
func (m *measure) take(run func()) (seconds, cpu float64) {
	if _, err := m.g.Broadcast(context.Background(), 2, nil); err != nil {
		m.t.Fatal(err)
	}
	c, start := cpuSeconds(), time.Now()
	if m.g.Rank() < 2 {
		run()
	}
	seconds, cpu = time.Since(start).Seconds(), cpuSeconds()-c
	if _, err := m.g.Gather(context.Background(), 2, nil); err != nil {
		m.t.Fatal(err)
	}
	return seconds, cpu
}

// rows sends rateVolume in two areas; a message of each waits while another is under way.
func (m *measure) rows() {
	const n = rateVolume / rateArea
	if m.g.Rank() == 0 {
		for k := range n {
			m.epoch++
			m.g.Send(1, uint32(k%2), m.epoch, 0, m.mem[k%2*rateArea:][:rateArea], nil)
		}
		<-m.done
		return
	}
	for k := range n {
		<-m.whole[k%2]
	}
	m.epoch++
	m.g.Send(0, 0, m.epoch, 0, []byte{1}, nil)
}

// copy writes as much in pieces of 256 KiB.
func (m *measure) copy() {
	piece := func(at int) []byte { return m.mem[at%len(m.mem):][:cluster.MaxFrame] }
	var err error
	for at := 0; at < rateVolume && err == nil; at += cluster.MaxFrame {
		if m.g.Rank() == 0 {
			_, err = m.bare.Write(piece(at))
		} else {
			_, err = io.ReadFull(m.bare, piece(at))
		}
	}
	if err == nil && m.g.Rank() == 0 {
		_, err = io.ReadFull(m.bare, make([]byte, 1))
	} else if err == nil {
		_, err = m.bare.Write([]byte{1})
	}
	if err != nil {
		m.t.Fatal(err)
	}
}
