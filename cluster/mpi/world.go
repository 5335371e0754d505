//go:build mpi && linux

package mpi

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Options say which library is opened.
type Options struct {
	Library  string // its file; "" = the launcher's, or the only one that is there
	Launcher Family // which MPI started this process; "" = it does not say
}

// World is what mpirun, or srun, started this process into: MPI_COMM_WORLD.
type World struct {
	lib         *library
	rank, ranks int
	streams     []*stream // by rank, nil at this one's
	table       *requests // of each rank window receives, then window sends

	begun    chan error    // of the owner: MPI has begun, or why not
	closing  atomic.Bool   // no more is written: end when all is sent
	quit     chan struct{} // closed: end at once
	once     sync.Once
	ended    chan struct{} // closed by the owner
	finalErr error         // of MPI_Finalize, before ended is closed
	asked    atomic.Bool   // somebody has written since the owner began its last look
	resting  atomic.Bool   // the owner waits at event
	event    int           // an eventfd
}

// Open opens the library and begins MPI. A process does so once. It ends with ctx, though MPI may go on beginning.
func Open(ctx context.Context, o Options) (*World, error) {
	lib, err := openLibrary(o.Library, o.Launcher)
	if err != nil {
		return nil, err
	}
	if _, set := os.LookupEnv(openMPISignals); !set && lib.family == OpenMPI {
		os.Setenv(openMPISignals, "") // by setenv of C, too, as cgo and purego promise
	}
	w := &World{lib: lib, begun: make(chan error, 1), quit: make(chan struct{}), ended: make(chan struct{})}
	if w.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make an eventfd: %w", err)
	}
	go w.own() // ends by Close, or with the process where MPI does not return
	select {
	case err := <-w.begun:
		if err != nil {
			return nil, fmt.Errorf("begin %s: %w", lib.name(), err)
		}
		return w, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// openMPISignals is Open MPI's list of signals that it handles: it would take SIGSEGV and others away from Go's runtime.
const openMPISignals = "OMPI_MCA_opal_signal"

// Rank is the number of this process, as MPI has it.
func (w *World) Rank() int { return w.rank }

// Ranks is how many MPI has started.
func (w *World) Ranks() int { return w.ranks }

// Library names the MPI.
func (w *World) Library() string { return w.lib.name() }

// Conn is the stream with another rank: one, however often it is asked for.
func (w *World) Conn(rank int) net.Conn { return w.streams[rank] }

// own is the goroutine that calls MPI, on a thread of its own.
func (w *World) own() {
	runtime.LockOSThread() // and never unlocked: what MPI keeps of this thread ends with it
	defer close(w.ended)
	err := w.begin()
	w.begun <- err
	if err != nil {
		return
	}
	err = w.turn()
	for _, s := range w.streams {
		if s != nil && err != nil {
			s.end(err)
		} else if s != nil {
			s.end(net.ErrClosed)
		}
	}
	if err == nil && w.closing.Load() {
		w.finalErr = w.finalize()
	}
}

// begin begins MPI and makes streams.
func (w *World) begin() error {
	out, err := newBlock(8)
	if err != nil {
		return err
	}
	if err := w.lib.call(w.lib.initThread, 0, 0, funneled, out.address()); err != nil {
		return err
	}
	if level := out.int32(0); level < funneled {
		return fmt.Errorf("it was built for processes of one thread (level %d)", level)
	}
	// What MPI does about errors at first is to end the process.
	if err := w.lib.call(w.lib.setErrhandler, w.lib.world, w.lib.errorsReturn); err != nil {
		return err
	}
	if err := w.lib.call(w.lib.commRank, w.lib.world, out.address()); err != nil {
		return err
	}
	w.rank = int(out.int32(0))
	if err := w.lib.call(w.lib.commSize, w.lib.world, out.address()); err != nil {
		return err
	}
	if w.ranks = int(out.int32(0)); w.ranks < 1 || w.rank < 0 || w.rank >= w.ranks {
		return fmt.Errorf("it says that this is rank %d of %d", w.rank, w.ranks)
	}
	if w.table, err = newRequests(w.lib, w.ranks*2*window); err != nil {
		return err
	}
	mem, err := newBlock(w.ranks * 2 * window * chunk) // what nobody writes takes no memory
	if err != nil {
		return err
	}
	w.streams = make([]*stream, w.ranks)
	for r := range w.streams {
		if r != w.rank {
			w.streams[r] = newStream(w, r, mem[r*2*window*chunk:])
		}
	}
	return nil
}

// turn posts and asks until the World ends. An error is of all streams.
func (w *World) turn() error {
	var list []done
	busy := time.Now() // when something happened
	for idle := 0; ; idle++ {
		select {
		case <-w.quit:
			return nil
		default:
		}
		w.asked.Store(false)
		sent := w.closing.Load() // before the look: nothing is written behind it
		for r, s := range w.streams {
			if s != nil {
				if s.post(w.table, r*2*window) {
					idle = 0
				}
				sent = sent && s.idle()
			}
		}
		if sent {
			return nil
		}
		for k := 0; k == 0 || k < w.lib.calls && len(list) == 0; k++ {
			var err error
			if list, _, err = w.table.test(list[:0]); err != nil {
				return err
			}
		}
		if w.completeAll(list) {
			idle = 0
		}
		if idle == 0 {
			busy = time.Now()
		}
		w.rest(pause(idle, time.Since(busy)))
	}
}

// completeAll gives requests that are done to their streams.
func (w *World) completeAll(list []done) bool {
	for _, d := range list {
		r := d.i / (2 * window)
		d.i %= 2 * window
		w.streams[r].complete(d)
	}
	return len(list) > 0
}

// What the owner does between two looks at MPI when nothing happens: it asks again at once, then waits twice as long each time. An answer
// within a network's latency costs no sleep. Where nothing has happened for long, it waits for a share of that time, so that a message comes later by that
// share at most, and an idle rank takes little of a core (docs/bench/cluster.md).
const (
	eager     = 16
	restFrom  = 20 * time.Microsecond
	restTo    = 200 * time.Microsecond
	restShare = 100 // a pause is a silence by this, above restTo
	restMost  = 4 * time.Millisecond
)

// pause is how long the owner waits after so many looks in vain and a silence. Zero: not at all.
func pause(idle int, silence time.Duration) time.Duration {
	if idle < eager {
		return 0
	}
	return max(min(restFrom<<min(idle-eager, 10), restTo), min(silence/restShare, restMost))
}

// rest waits until somebody writes, or for a pause.
func (w *World) rest(pause time.Duration) {
	if pause == 0 {
		return
	}
	w.resting.Store(true)
	defer w.resting.Store(false)
	if w.asked.Load() { // wakeUp did not see that this rest begins
		return
	}
	at := []unix.PollFd{{Fd: int32(w.event), Events: unix.POLLIN}}
	timeout := unix.NsecToTimespec(int64(pause))
	if n, _ := unix.Ppoll(at, &timeout, nil); n > 0 {
		var b [8]byte
		_, _ = unix.Read(w.event, b[:])
	}
}

// wakeUp ends a rest, also one that begins just now.
func (w *World) wakeUp() {
	w.asked.Store(true)
	if w.resting.CompareAndSwap(true, false) {
		one := uint64(1)
		_, _ = unix.Write(w.event, unsafe.Slice((*byte)(unsafe.Pointer(&one)), 8))
	}
}

// finalize takes back the receives that are posted and ends MPI.
func (w *World) finalize() error {
	for r, s := range w.streams {
		if s != nil {
			for _, slot := range s.posted {
				if s.whole[slot] < 0 {
					_ = w.table.cancel(r*2*window + slot) // one whose message has come is done all the same
				}
			}
		}
	}
	var list []done
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(restFrom) {
		var none bool
		var err error
		if list, none, err = w.table.test(list[:0]); none || err != nil {
			break
		}
	}
	return w.lib.call(w.lib.finalize)
}

// Close ends the World. finalize: what was written is sent and MPI ended, which all ranks have to do within the time given; else MPI is left as
// it is, and the process has to end.
func (w *World) Close(finalize bool, within time.Duration) error {
	if finalize {
		w.closing.Store(true)
		w.wakeUp()
		select {
		case <-w.ended:
			return w.finalErr
		case <-time.After(within):
			w.once.Do(func() { close(w.quit) })
			return fmt.Errorf("end %s: it did not come to its end within %v", w.lib.name(), within)
		}
	}
	w.once.Do(func() { close(w.quit) })
	w.wakeUp()
	select {
	case <-w.ended:
	case <-time.After(time.Second): // MPI does not return
	}
	return nil
}
