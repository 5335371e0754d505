//go:build mpi && linux

package mpi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/cluster/mpi/fakempi"
)

// worlds opens ranks of one process over a fake libmpi. Those that a test does not close are left at its end.
func worlds(t *testing.T, ranks int, o fakempi.Options) []*World {
	t.Helper()
	out := make([]*World, ranks)
	for r, file := range fakempi.Libraries(t, ranks, o) {
		w, err := Open(context.Background(), Options{Library: file})
		if err != nil {
			t.Fatal(err)
		}
		if w.Rank() != r || w.Ranks() != ranks {
			t.Fatalf("rank %d of %d is %d of %d", r, ranks, w.Rank(), w.Ranks())
		}
		t.Cleanup(func() { w.Close(false, 0) })
		out[r] = w
	}
	return out
}

// closeAll ends all ranks at once.
func closeAll(t *testing.T, all []*World) {
	t.Helper()
	var wait sync.WaitGroup
	for _, w := range all {
		wait.Go(func() {
			if err := w.Close(true, 10*time.Second); err != nil {
				t.Errorf("rank %d: %v", w.Rank(), err)
			}
		})
	}
	wait.Wait()
}

// tempers are how a libmpi may behave.
var tempers = map[string]map[string]int{
	"prompt":    nil,
	"late":      {"late": 40},
	"reordered": {"late": 9, "shuffle": 1},
	"small":     {"ring": 100, "shuffle": 1, "late": 2},
	"tiny":      {"ring": 8},
}

// What one rank writes to another is what that one reads, in order, whatever the sizes of writes and reads are and however late and in
// whichever order MPI says that it is done.
func TestStreams(t *testing.T) {
	for name, config := range tempers {
		for _, mpich := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/mpich=%v", name, mpich), func(t *testing.T) {
				bytesEach := 5 << 20
				if testing.Short() {
					bytesEach = 1 << 20
				}
				if config["ring"] > 0 && config["ring"] < 1000 {
					bytesEach = 10_000
				}
				all := worlds(t, 3, fakempi.Options{MPICH: mpich, Config: config})
				var wait sync.WaitGroup
				for _, w := range all {
					for _, x := range all {
						if w != x {
							wait.Go(func() { send(t, w.Conn(x.Rank()), w.Rank(), x.Rank(), bytesEach) })
							wait.Go(func() { receive(t, w.Conn(x.Rank()), x.Rank(), w.Rank(), bytesEach) })
						}
					}
				}
				wait.Wait()
				if !t.Failed() {
					closeAll(t, all)
				}
			})
		}
	}
}

// content is what goes from one rank to another.
func content(from, to, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(from), byte(to)}).Read(b)
	return b
}

// send writes in pieces of 1 to 300,000 bytes. Its memory is scribbled over behind each.
func send(t *testing.T, c net.Conn, from, to, n int) {
	b, r := content(from, to, n), rand.New(rand.NewPCG(uint64(from), uint64(to)))
	for len(b) > 0 {
		k := min(len(b), 1+r.IntN(1<<r.IntN(19)))
		piece := bytes.Clone(b[:k])
		if written, err := c.Write(piece); err != nil || written != k {
			t.Errorf("rank %d to %d: %d of %d bytes were written: %v", from, to, written, k, err)
			return
		}
		clear(piece)
		b = b[k:]
	}
}

func receive(t *testing.T, c net.Conn, from, to, n int) {
	got, r := make([]byte, n), rand.New(rand.NewPCG(uint64(to), uint64(from)))
	for at := 0; at < n; {
		k, err := c.Read(got[at:min(n, at+1+r.IntN(1<<r.IntN(19)))])
		if err != nil || k == 0 {
			t.Errorf("rank %d to %d: %d bytes, %v, behind %d of %d", from, to, k, err, at, n)
			return
		}
		at += k
	}
	if !bytes.Equal(got, content(from, to, n)) {
		t.Errorf("rank %d to %d: other bytes have come", from, to)
	}
}

// What was written before Close still comes, also where Close does not wait for the reader.
func TestCloseSendsWhatIsLeft(t *testing.T) {
	all := worlds(t, 2, fakempi.Options{Config: map[string]int{"late": 30, "ring": 5000}})
	b := content(0, 1, 3*chunk)
	if _, err := all[0].Conn(1).Write(b); err != nil {
		t.Fatal(err)
	}
	all[0].Conn(1).Close()
	closed := make(chan error, 1)
	go func() { closed <- all[0].Close(true, 10*time.Second) }() // read below
	got := make([]byte, len(b))
	if _, err := io.ReadFull(all[1].Conn(0), got); err != nil || !bytes.Equal(got, b) {
		t.Errorf("%v, or other bytes", err)
	}
	if err := errors.Join(all[1].Close(true, 10*time.Second), <-closed); err != nil {
		t.Error(err)
	}
}

func TestDeadlinesAndClose(t *testing.T) {
	all := worlds(t, 2, fakempi.Options{Config: map[string]int{"ring": 1000}})
	c := all[0].Conn(1)
	soon := func() time.Time { return time.Now().Add(20 * time.Millisecond) }
	c.SetReadDeadline(soon())
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read ends with %v", err)
	}
	all[1].Close(false, 0) // nobody posts receives any more
	c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	n, err := c.Write(make([]byte, 3*window*chunk))
	if !errors.Is(err, os.ErrDeadlineExceeded) || n < window*chunk {
		t.Errorf("a write to who does not read ends with %d bytes, %v", n, err)
	}
	c.SetDeadline(time.Time{})
	ends := make(chan error, 2)
	go func() { _, err := c.Read(make([]byte, 1)); ends <- err }()      // ends by Close
	go func() { _, err := c.Write(make([]byte, chunk)); ends <- err }() // too
	time.Sleep(10 * time.Millisecond)
	c.Close()
	for range 2 {
		if err := <-ends; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Close ends a call with %v", err)
		}
	}
}

// An error of MPI ends streams with its words, and who waits at them.
func TestErrorsOfMPI(t *testing.T) {
	for _, name := range []string{"failsend", "failtest", "failstatus"} {
		for _, mpich := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/mpich=%v", name, mpich), func(t *testing.T) {
				all := worlds(t, 2, fakempi.Options{MPICH: mpich, Config: map[string]int{name: 20, "late": 3}})
				ends := make(chan error, 4)
				for r, w := range all {
					c := w.Conn(1 - r)
					c.SetDeadline(time.Now().Add(10 * time.Second))
					go func() { _, err := io.Copy(io.Discard, c); ends <- err }()                      // ends with the stream
					go func() { _, err := io.Copy(c, zeros{}); all[1].Conn(0).Close(); ends <- err }() // too
				}
				seen := 0
				for range 4 {
					if err := <-ends; err != nil && err.Error() == "MPI: MPI_ERR_OTHER: injected" {
						seen++
					} else if !errors.Is(err, net.ErrClosed) {
						t.Errorf("a call ends with %v", err)
					}
				}
				if seen != 2 {
					t.Errorf("%d calls at rank 0 end with the error, want 2", seen)
				}
				if err := all[0].Close(false, 0); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return min(len(b), 100), nil }

// Behind a message that MPI refuses nothing is sent: what the other rank has read begins what was written.
func TestNothingBehindALoss(t *testing.T) {
	all := worlds(t, 2, fakempi.Options{Config: map[string]int{"failsend": 3}})
	from, to := all[0].Conn(1), all[1].Conn(0)
	b := content(0, 1, 40*chunk)
	if n, err := from.Write(b); err == nil || n == len(b) {
		t.Fatalf("%d bytes were written, %v", n, err)
	}
	if err := to.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(to)
	if err == nil || len(got) == 0 || !bytes.HasPrefix(b, got) {
		t.Errorf("%d bytes have come, %v; they begin what was written: %v", len(got), err, bytes.HasPrefix(b, got))
	}
}

func TestFinalizeThatDoesNotReturn(t *testing.T) {
	all := worlds(t, 2, fakempi.Options{Config: map[string]int{"hang": 1}})
	err := all[0].Close(true, 50*time.Millisecond)
	if err == nil || !strings.HasPrefix(err.Error(), "end Open MPI (fake-0-of-2.so): it did not come to its end within 50ms") {
		t.Errorf("ends with %v", err)
	}
}

// The owner asks at once, then less and less often; a silence makes a message late by a hundredth of it, and by 4 ms at most.
func TestPause(t *testing.T) {
	for _, tc := range []struct {
		idle          int
		silence, want time.Duration
	}{
		{0, time.Hour, 0},
		{eager - 1, time.Hour, 0},
		{eager, time.Millisecond, restFrom},
		{eager + 1, time.Millisecond, 2 * restFrom},
		{eager + 10, time.Millisecond, restTo},
		{1 << 40, 10 * time.Millisecond, restTo},
		{1 << 40, 50 * time.Millisecond, 500 * time.Microsecond},
		{1 << 40, time.Hour, restMost},
	} {
		if got := pause(tc.idle, tc.silence); got != tc.want {
			t.Errorf("%d looks in vain, %v: a pause of %v, want %v", tc.idle, tc.silence, got, tc.want)
		}
	}
}
