package gputest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// all returns a matrix of one value.
func all(rows, cols int, v float64) ref.Matrix {
	return ref.Map(rows, cols, func(i, j int) float64 { return v })
}

// testOrder: operations of one queue run in the order of the calls.
func testOrder(b *bench) {
	b.scene("chain", func(b *bench) {
		const steps = 40
		x := b.put(all(200, 50, 0), layouts[0])
		one := b.put(all(200, 50, 1), layouts[0])
		want := 0.0
		for i := range steps {
			if i%8 == 7 {
				b.q.Fill(x, float32(i))
				want = float64(i)
			}
			b.q.Axpby(x, float32(i), one, 0.5)
			want = float64(float32(float64(i) + 0.5*want))
		}
		b.near("x", b.get(x), all(200, 50, want), steps, func(i, j int) float64 { return want + steps })
	})
	b.scene("sync_of_nothing", func(b *bench) {
		b.sync()
		b.sync()
	})
}

// testEvents: two queues pass a matrix to and fro; each step overwrites what the other has just read.
func testEvents(b *bench) {
	b.scene("ping_pong", func(b *bench) {
		const steps = 60
		x, y := b.put(all(300, 60, 0), layouts[0]), b.put(all(300, 60, 0), layouts[0])
		one := b.put(all(300, 60, 1), layouts[0])
		b.sync()
		other := b.dev.NewQueue("other")
		for range steps {
			b.q.Axpby(x, 1, one, 1) // x += 1
			other.Wait(b.q.Record())
			other.Axpby(y, 1, x, 1) // y += x
			b.q.Wait(other.Record())
		}
		if err := other.Sync(); err != nil {
			b.Fatal(err)
		}
		b.equal("x", b.get(x), all(300, 60, steps))
		b.equal("y", b.get(y), all(300, 60, steps*(steps+1)/2))
	})
	b.scene("event_fires", func(b *bench) {
		m := b.blank(500, 100, layouts[0])
		b.q.Fill(m, 1)
		ev := b.q.Record()
		<-ev.Done()
		<-ev.Done() // stays fired
		b.q.Wait(ev)
		b.equal("m", b.get(m), all(500, 100, 1))
	})
}

// hostEvent is an event of the host: what a network or another process has done.
type hostEvent chan struct{}

func (e hostEvent) Done() <-chan struct{} { return e }

// testHostEvents: a queue waits for the host, as for another device, and sees what the host wrote before; other queues go on.
func testHostEvents(b *bench) {
	b.scene("arrivals", func(b *bench) {
		const rounds, n = 20, 300
		m, sum := b.blank(1, n, layouts[0]), b.put(all(1, n, 0), layouts[0])
		b.sync()
		src, other := make([]byte, 4*n), b.dev.NewQueue("other")
		free := b.q.Record()
		for i := range rounds {
			arrived := make(hostEvent)
			b.q.Wait(arrived)
			b.q.Upload(m.Buf, 4*gpu.Bytes(m.Off), src)
			b.q.Axpby(sum, 1, m, 1)
			if err := other.Sync(); err != nil {
				b.Fatal(err)
			}
			<-free.Done() // src has been read
			free = b.q.Record()
			go func() { // ends at once; the queue waits for it
				for k := range n {
					binary.NativeEndian.PutUint32(src[4*k:], math.Float32bits(float32(i)))
				}
				close(arrived)
			}()
		}
		b.equal("m", b.get(m), all(1, n, rounds-1))
		b.equal("sum", b.get(sum), all(1, n, rounds*(rounds-1)/2))
	})
}

// testCalls: the host is called in the queue's order, and what it says stays as the queue's fault.
func testCalls(b *bench) {
	b.scene("order", func(b *bench) {
		m := b.blank(300, 60, layouts[0])
		host, seen := make([]byte, 4), []float32{}
		for i := range 20 {
			b.q.Fill(m, float32(i))
			b.q.Download(host, m.Buf, 0)
			b.q.Call("look", func() error {
				seen = append(seen, math.Float32frombits(binary.NativeEndian.Uint32(host)))
				return nil
			})
		}
		b.sync()
		for i, x := range seen {
			if x != float32(i) {
				b.Errorf("call %d saw %g", i, x)
			}
		}
		b.equal("m", b.get(m), all(300, 60, 19))
		if len(seen) != 20 || b.q.Fault() != nil {
			b.Errorf("%d calls of 20, fault %v", len(seen), b.q.Fault())
		}
	})
	b.scene("error", func(b *bench) {
		m, wrong := b.put(all(4, 4, 1), layouts[0]), errors.New("wrong version")
		b.sync()
		q := b.dev.NewQueue("calls")
		q.Call("check", func() error { return wrong })
		q.Call("again", func() error { b.Error("called after a fault"); return nil })
		q.Fill(m, 2)
		var fault *gpu.Fault
		if err := q.Sync(); !errors.As(err, &fault) || fault.Op != "check" || !errors.Is(err, wrong) {
			b.Errorf("sync: %v", err)
		}
		if !errors.Is(q.Fault(), wrong) || b.q.Fault() != nil {
			b.Errorf("fault %v of the queue, %v of another", q.Fault(), b.q.Fault())
		}
		b.equal("m", b.get(m), all(4, 4, 1))
	})
}

// testUploadRows: rows that lie apart on the host arrive without gaps.
func testUploadRows(b *bench) {
	b.scene("rows", func(b *bench) {
		const n, cols = 40, 24
		x := b.normal(n, cols)
		src := make([]byte, 4*n*cols)
		for i, v := range x.V {
			binary.NativeEndian.PutUint32(src[4*i:], math.Float32bits(float32(v)))
		}
		rows := []int32{3, 3, 39, 0, 17}
		dst := b.put(all(len(rows)+2, cols, 7), layouts[0])
		b.sync()
		before := b.q.Usage()
		b.q.UploadRows(dst.RowRange(1, 1+len(rows)), src, rows)
		b.q.UploadRows(dst.RowRange(0, 0), nil, nil)
		b.sync()
		if got := b.q.Usage().Sub(before); got.H2D != 4*gpu.Bytes(len(rows)*cols) || got.Time[gpu.PhaseTransfer] <= 0 {
			b.Errorf("counted %d bytes in %v", got.H2D, got.Time[gpu.PhaseTransfer])
		}
		b.equal("dst", b.get(dst), ref.Map(dst.Rows, cols, func(i, j int) float64 {
			if i == 0 || i > len(rows) {
				return 7
			}
			return x.At(int(rows[i-1]), j)
		}))
		for name, f := range map[string]func(){
			"beyond": func() { b.q.UploadRows(dst.RowRange(0, 1), src, []int32{n}) },
			"few":    func() { b.q.UploadRows(dst.RowRange(0, 2), src, []int32{0}) },
			"gaps":   func() { b.q.UploadRows(dst.ColRange(0, 8), src, []int32{0, 1, 2, 3, 4, 5, 6}) },
		} {
			if !panics(f) {
				b.Errorf("%s: a wrong shape does not panic", name)
			}
		}
	})
}

// testCounters: bytes are those of the copies, SpMM is entries × columns, times go to their phase.
func testCounters(b *bench) {
	b.scene("counters", func(b *bench) {
		a := b.random(50, 20, 5)
		dev, x, y := b.csr(a), b.put(b.normal(20, 24), layouts[1]), b.blank(50, 24, layouts[1])
		b.sync()
		before := b.q.Usage()
		raw := make([]byte, 1000)
		b.q.Upload(x.Buf, 8, raw[:96])
		b.q.Download(raw[:40], x.Buf, 4)
		b.q.Download(raw[:12], x.Buf, 4)
		b.q.Aggregate(gpu.AggregateArgs{Y: y, A: dev, X: x})
		b.q.SpMM(y, dev, x, 0)
		b.sync()
		use := b.q.Usage().Sub(before)
		if use.H2D != 96 || use.D2H != 52 || use.Peer != 0 {
			b.Errorf("bytes h2d %d, d2h %d, peer %d; want 96, 52, 0", use.H2D, use.D2H, use.Peer)
		}
		if want := a.Entries() * 24; use.SpMM != want {
			b.Errorf("SpMM work %d, want %d", use.SpMM, want)
		}
		for _, p := range []gpu.Phase{gpu.PhaseAggregation, gpu.PhaseMM, gpu.PhaseTransfer} {
			if use.Time[p] <= 0 {
				b.Errorf("no time in phase %v", p)
			}
		}
		b.get(y)
		b.changed(x.Buf, func(e int) bool { return e >= 2 && e < 26 }, 4)
	})
	b.scene("bytes of what is enqueued", func(b *bench) {
		const copies = 100
		x, raw := b.blank(1<<10, 64, layouts[0]), make([]byte, 1<<18)
		b.sync()
		before := b.q.Usage()
		for range copies {
			b.q.Download(raw, x.Buf, 0)
		}
		if got := b.q.Usage().Sub(before).D2H; got != copies*gpu.Bytes(len(raw)) {
			b.Errorf("%d bytes are counted before they have moved, want %d", got, copies*len(raw))
		}
		b.sync()
		if got := b.q.Usage().Sub(before).D2H; got != copies*gpu.Bytes(len(raw)) {
			b.Errorf("%d bytes are counted, want %d", got, copies*len(raw))
		}
	})
}

// testMemory: the budget holds, is given back, and running out of it is an error that says what was wanted.
func testMemory(b *bench) {
	b.sync()
	start := b.dev.Memory()
	if start.Used != 0 || start.Budget <= 0 {
		b.Fatalf("a fresh device has %d of %d bytes in use", start.Used, start.Budget)
	}
	first, err := b.dev.Alloc(1000, "first")
	if err != nil {
		b.Fatal(err)
	}
	if first.Size() < 1000 {
		b.Errorf("a block of 1000 bytes has %d", first.Size())
	}
	used := b.dev.Memory().Used
	if used < 1000 {
		b.Errorf("%d bytes in use with a block of 1000", used)
	}
	_, err = b.dev.Alloc(start.Budget, "too much")
	var oom *gpu.OutOfMemory
	if !errors.As(err, &oom) {
		b.Fatalf("allocating the whole budget again: got %v, want *gpu.OutOfMemory", err)
	}
	if oom.Name != "too much" || oom.Need != start.Budget || oom.Have != start.Budget-used {
		b.Errorf("out of memory says %+v", *oom)
	}
	if _, err := b.dev.Alloc(math.MaxInt64, "absurd"); !errors.As(err, &oom) {
		b.Errorf("allocating 2^63-1 bytes: got %v, want *gpu.OutOfMemory", err)
	}
	first.Free()
	m := b.dev.Memory()
	if m.Used != 0 || m.HighWater != used {
		b.Errorf("after Free: %d bytes in use, high water %d, want 0 and %d", m.Used, m.HighWater, used)
	}
	empty, err := b.dev.Alloc(0, "nothing")
	if err != nil {
		b.Fatal(err)
	}
	empty.Free()
	if !panics(empty.Free) {
		b.Error("freeing twice does not panic")
	}
}

// testShapes: wrong shapes panic where they are enqueued, and the queue goes on.
func testShapes(b *bench) {
	b.scene("wrong", func(b *bench) {
		a, c := b.put(b.normal(3, 4), layouts[0]), b.put(b.normal(4, 5), layouts[0])
		half := b.put16(ref.NewMatrix(3, 4), layouts[0])
		beyond := a
		beyond.Off = 1 << 20
		for name, f := range map[string]func(){
			"Gemm":     func() { b.q.Gemm(gpu.GemmArgs{C: a, A: a, B: c}) },
			"GemmTT":   func() { b.q.Gemm(gpu.GemmArgs{C: a, A: a, B: a, TransA: true, TransB: true}) },
			"Axpby":    func() { b.q.Axpby(a, 1, c, 0) },
			"Fill16":   func() { b.q.Fill(half, 1) },
			"Beyond":   func() { b.q.Fill(beyond, 1) },
			"Upload":   func() { b.q.Upload(a.Buf, a.Buf.Size()-1, make([]byte, 2)) },
			"Download": func() { b.q.Download(make([]byte, 2), a.Buf, -1) },
			"Gather":   func() { b.q.Gather(a, a, gpu.Ints{}) },
			"Pack":     func() { b.q.PackRows(gpu.PackArgs{Bits: 8, Dst: a, Src: a, IDs: array(b, make([]int32, 3))}) },
			"PackIDs": func() {
				b.q.PackRows(gpu.PackArgs{Bits: 8, Dst: a.ColRange(0, 2), Src: a, IDs: array(b, make([]int32, 2))})
			},
			"Unpack": func() { b.q.UnpackRows(a, a, 8) },
			"Dropout": func() {
				b.q.Epilogue(gpu.Epilogue{Z: a, H: a, Dropout: gpu.Dropout{P: 1, IDs: array(b, make([]int32, 3))}})
			},
		} {
			if !panics(f) {
				b.Errorf("%s: a wrong shape does not panic", name)
			}
		}
		b.sync()
	})
}

// panics reports whether f panics.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// testDevices: an event of one device orders the queue of another.
func testDevices(a, b *bench) {
	const n = 300 * 60
	x, y := a.put(all(300, 60, 0), layouts[0]), b.blank(300, 60, layouts[0])
	one := a.put(all(300, 60, 1), layouts[0])
	host := make([]byte, 4*n)
	a.sync()
	b.sync()
	for range 30 {
		a.q.Axpby(x, 1, one, 1)
		a.q.Download(host, x.Buf, 0)
		b.q.Wait(a.q.Record())
		b.q.Upload(y.Buf, 0, host)
		a.q.Wait(b.q.Record())
	}
	b.equal("y", b.get(y), all(300, 60, 30))
	a.sync()
}

// testPeer: copies between devices, where the backend has them.
func testPeer(a, b *bench) {
	peer, ok := b.q.(gpu.PeerCopier)
	if !ok || !peer.CanCopyFrom(a.dev) {
		b.Log("this backend has no peer copies")
		return
	}
	for _, l := range layouts {
		for _, s := range shapes {
			x := a.normal(s.rows, s.cols)
			src, dst := a.put(x, l), b.blank(s.rows, s.cols, layouts[1])
			half := ref.RoundBF16(x)
			src16, dst16 := a.put16(half, l), b.put16(ref.NewMatrix(s.rows, s.cols), l)
			b.q.Wait(a.q.Record())
			before := b.q.Usage()
			peer.CopyFrom(dst, src)
			peer.CopyFrom(dst16, src16)
			b.equal("fp32", b.get(dst), x)
			b.equal("bf16", b.get(dst16), half)
			if got, want := b.q.Usage().Sub(before).Peer, gpu.Bytes(6*s.rows*s.cols); got != want {
				b.Errorf("%d bytes counted for %d", got, want)
			}
		}
	}
}

// RunFault demands what the contract says of a queue whose operation has failed. fail enqueues an operation that fails
// on this backend; the suite closes the device.
func RunFault(t *testing.T, dev gpu.Device, fail func(dev gpu.Device, q gpu.Queue)) {
	b := newBench(t, dev)
	m := b.put(all(4, 4, 1), layouts[0])
	b.sync()
	q := dev.NewQueue("broken")
	fail(dev, q)
	q.Fill(m, 2)
	ev := q.Record()
	b.q.Wait(ev) // must not hang
	<-ev.Done()
	err := q.Sync()
	var fault *gpu.Fault
	if !errors.As(err, &fault) {
		t.Fatalf("sync: got %v, want *gpu.Fault", err)
	}
	if fault.Device != dev.Info().Name || fault.Queue != "broken" || fault.Op == "" || fault.Err == nil {
		t.Errorf("fault does not say where: %+v", *fault)
	}
	if again := q.Sync(); !errors.Is(again, err) {
		t.Errorf("the first fault did not stay: %v, then %v", err, again)
	}
	q.Wait(b.q.Record())
	q.Download(make([]byte, 8), m.Buf, 0)
	if n := q.Usage().D2H; n != 0 {
		t.Errorf("a faulted queue copied %d bytes", n)
	}
	if bytes.ContainsRune([]byte(err.Error()), '\n') {
		t.Errorf("the fault is not one line: %q", err)
	}
	b.equal("m", b.get(m), all(4, 4, 1)) // the other queue works, the broken one wrote nothing
}
