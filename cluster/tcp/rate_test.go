//go:build unix

package tcp

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"capgnn/cluster"
)

const (
	rateArea   = 4 << 20  // bytes of a message
	rateVolume = 32 << 20 // bytes of a measurement
)

// BenchmarkRate measures rows from rank 0 to rank 1 beside a bare copy loop over one connection, in turn, and reports the median ratio:
//
//	go test -run '^$' -bench Rate -benchtime 45x ./cluster/tcp
func BenchmarkRate(b *testing.B) {
	for name, o := range modes {
		b.Run(name, func(b *testing.B) {
			groups := together(b, 2, o, nil)
			announce(b, groups, []cluster.Area{{From: 0, To: 1, Bytes: rateArea}, {From: 0, To: 1, Number: 1, Bytes: rateArea}})
			send := sender(groups)
			bare, end := copyLoop(b, o)
			defer end()
			send()
			bare()
			var ratios, cpus, ours, theirs []float64
			for b.Loop() {
				c0 := cpuSeconds()
				x := send()
				c1 := cpuSeconds()
				y := bare()
				cpus = append(cpus, (c1-c0)/(cpuSeconds()-c1))
				ratios, ours, theirs = append(ratios, y/x), append(ours, x), append(theirs, y)
			}
			b.ReportMetric(median(ratios), "of-bare")
			b.ReportMetric(median(cpus), "cpu-of-bare")
			b.ReportMetric(rateVolume/median(ours)/1e9, "GB/s")
			b.ReportMetric(rateVolume/median(theirs)/1e9, "bare-GB/s")
		})
	}
}

// cpuSeconds is the processor time of this process: on a machine that others use, it says more than the clock.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// sender returns a function that sends rateVolume in two areas, each taken as soon as it is whole, and returns the seconds.
func sender(groups []*Group) func() float64 {
	whole := [2]chan struct{}{make(chan struct{}, 2), make(chan struct{}, 2)}
	for area := range uint32(2) {
		groups[1].Expect(0, area, make([]byte, rateArea), func(epoch uint32, hi int) {
			if hi == rateArea {
				groups[1].Taken(0, area, epoch)
				whole[area] <- struct{}{}
			}
		})
	}
	rows := make([]byte, rateArea)
	epoch := uint32(0)
	return func() float64 {
		start := time.Now()
		n := rateVolume / rateArea
		for k := range n + 4 {
			if k >= 4 {
				<-whole[k%2] // one message of each area waits while another is under way
			}
			if k < n {
				epoch++
				groups[0].Send(1, uint32(k%2), epoch, 0, rows, nil)
			}
		}
		return time.Since(start).Seconds()
	}
}

// copyLoop returns a function that writes rateVolume in pieces of 256 KiB to a connection that another goroutine reads into memory, as
// much memory on both sides as sender uses, and returns the seconds until the last byte was read. With a secret and not plain, through TLS.
func copyLoop(b *testing.B, o Options) (run func() float64, end func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	var near, far net.Conn
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		b.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		b.Fatal(err)
	}
	if o.Secret != nil && !o.Plain && os.Getenv("CAPGNN_BARE_TLS") != "" {
		trust, err := trustOf(o.Secret)
		if err != nil {
			b.Fatal(err)
		}
		near, far = tls.Client(near, trust), tls.Server(far, trust)
	}
	read := make(chan struct{})
	go func() { // ends with the connection
		memory := make([]byte, 2*rateArea)
		for {
			for at := 0; at < rateVolume; at += cluster.MaxFrame {
				if _, err := io.ReadFull(far, memory[at%len(memory):][:cluster.MaxFrame]); err != nil {
					return
				}
			}
			read <- struct{}{}
		}
	}()
	rows := make([]byte, rateArea)
	return func() float64 {
			start := time.Now()
			for at := 0; at < rateVolume; at += cluster.MaxFrame {
				if _, err := near.Write(rows[at%len(rows):][:cluster.MaxFrame]); err != nil {
					b.Fatal(err)
				}
			}
			<-read
			return time.Since(start).Seconds()
		}, func() {
			near.Close()
			far.Close()
		}
}
