//go:build cuda

package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// pinnedBytes returns page-locked host memory; it goes before the devices do.
func pinnedBytes(t *testing.T, n int) []byte {
	t.Helper()
	mem, err := hostmem.NewPinned("cuda:0", "test", int64(n), hostmem.LockOptions{Pinner: driver.Pinner()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := mem.Close(); err != nil {
			t.Error(err)
		}
	})
	return mem.Bytes()
}

// A queue's first fault is the one that counts, with its operation, and what does not run after it is not counted.
func TestFirstFault(t *testing.T) {
	configure(t, "mem=16")
	d := open(t, Spec{})
	q := d.NewQueue("q").(*queue)
	buf, mem := alloc(t, d, 1000, "x"), pinnedBytes(t, 1000)
	q.Upload(buf, 0, mem)
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	q.begin("Nonsense", gpu.PhaseOther)
	q.launch("capgnn_nonsense", dim{1, 1}, 32, 0)
	q.Upload(buf, 0, mem) // in the same batch: enqueued before anybody knows of the fault
	q.enqueue(command{op: "later", run: func() error { t.Error("ran after a fault"); return errors.New("later") }})
	fired := q.Record()
	err := q.Sync()
	var fault *gpu.Fault
	if !errors.As(err, &fault) || fault.Op != "Nonsense: capgnn_nonsense" || fault.Queue != "q" || fault.Device != "cuda:0" || errors.Is(err, gpu.ErrDeviceLost) {
		t.Errorf("sync: %v", err)
	}
	soon(t, "an event behind a fault", fired.Done())
	q.fail("second", errors.New("another"))
	q.Upload(buf, 0, mem)
	q.Download(make([]byte, 1000), buf, 0)
	if len(q.batch) != 0 {
		t.Errorf("%d commands wait behind a fault", len(q.batch))
	}
	if again := q.Sync(); again == nil || again.Error() != err.Error() {
		t.Errorf("the fault was %v, then %v", err, again)
	}
	if u := q.Usage(); u.H2D != 1000 || u.D2H != 0 {
		t.Errorf("%d and %d bytes counted, of which 1000 and 0 were copied", u.H2D, u.D2H)
	}
	if err := d.NewQueue("other").Sync(); err != nil {
		t.Errorf("another queue: %v", err)
	}
}

// A copy that the driver refuses is not counted.
func TestRefusedCopy(t *testing.T) {
	configure(t, "mem=16")
	q := open(t, Spec{}).NewQueue("q").(*queue)
	q.enqueue(command{op: "Upload", moves: gpu.Usage{H2D: 100}, run: func() error { return errors.New("refused") }})
	if err := q.Sync(); err == nil || !strings.HasSuffix(err.Error(), "Upload: refused") {
		t.Errorf("sync: %v", err)
	}
	if u := q.Usage(); u.H2D != 0 {
		t.Errorf("%d bytes counted", u.H2D)
	}
}

// A full batch is handed over without being asked: the device works while the host goes on.
func TestFullBatch(t *testing.T) {
	configure(t, "mem=16")
	q := open(t, Spec{}).NewQueue("q").(*queue)
	ran := make(chan struct{})
	q.enqueue(command{op: "first", run: func() error { close(ran); return nil }})
	for range batchSize - 2 {
		q.enqueue(command{op: "next", run: func() error { return nil }})
	}
	if len(q.batch) != batchSize-1 {
		t.Errorf("%d commands are kept, want %d", len(q.batch), batchSize-1)
	}
	q.enqueue(command{op: "last", run: func() error { return nil }})
	soon(t, "a full batch", ran)
	if err := q.Sync(); err != nil {
		t.Error(err)
	}
}

// The host reads what it stages only when that is there: here it comes from another queue, which the copy waits for.
func TestStagingReadsAfterWaits(t *testing.T) {
	const n, row = 24_000, 400
	for _, rows := range []bool{false, true} {
		for seed := 1; seed <= 12; seed++ {
			t.Run(fmt.Sprintf("rows=%v/%d", rows, seed), func(t *testing.T) {
				configure(t, fmt.Sprintf("mem=16;seed=%d;stretch=%d", seed, 1+seed*5%37))
				d := open(t, Spec{})
				first, second := d.NewQueue("first"), d.NewQueue("second").(*queue)
				// For rows all of it is registered; else the end is not, so that an upload of the whole goes through staging.
				whole, registered := make([]byte, 2*n), n
				if rows {
					registered = 2 * n
				}
				if err := driver.Pinner().Register(whole[:registered]); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := driver.Pinner().Unregister(whole[:registered]); err != nil {
						t.Error(err)
					}
				}()
				host := whole[:n]
				from, to := alloc(t, d, n, "from"), alloc(t, d, 2*n, "to")
				want := noise(n, uint64(seed))
				first.Upload(from, 0, want)
				if err := first.Sync(); err != nil {
					t.Fatal(err)
				}
				m := gpu.Matrix{Buf: alloc(t, d, 4, "busy"), Rows: 1, Cols: 1, LD: 1}
				for range 30 {
					first.Fill(m, 1)
				}
				first.Download(host, from, 0)
				second.Wait(first.Record())
				if rows {
					second.UploadRows(gpu.Matrix{Buf: to, Rows: n / row, Cols: row / 4, LD: row / 4}, host, backwards(n/row))
				} else {
					second.Upload(to, 0, whole)
				}
				got := make([]byte, n)
				second.Download(got, to, 0)
				if err := second.Sync(); err != nil {
					t.Fatal(err)
				}
				for k := range n / row {
					r := k
					if rows {
						r = n/row - 1 - k
					}
					if !bytes.Equal(got[k*row:][:row], want[r*row:][:row]) {
						t.Fatalf("row %d was read before it had come", r)
					}
				}
			})
		}
	}
}

// backwards lists n rows from the last one on: no two of them are a run.
func backwards(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(n - 1 - i)
	}
	return list
}

// Rows that are longer than the staging go piece by piece, each to its place.
func TestUploadLongRows(t *testing.T) {
	configure(t, "mem=64;seed=2")
	d := open(t, Spec{})
	q := d.NewQueue("q").(*queue)
	const cols, off = stagingHalf/4 + 3, 5
	src := noise(3*4*cols, 1)
	dst := gpu.Matrix{Buf: alloc(t, d, 4*(2*cols+off), "x"), Off: off, Rows: 2, Cols: cols, LD: cols}
	q.UploadRows(dst, src, []int32{2, 0})
	got := make([]byte, 2*4*cols)
	q.Download(got, dst.Buf, 4*off)
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[:4*cols], src[2*4*cols:]) || !bytes.Equal(got[4*cols:], src[:4*cols]) {
		t.Error("rows of more than 4 MiB came to other places")
	}
	if u := q.Usage(); u.H2D != 2*4*cols {
		t.Errorf("%d bytes counted", u.H2D)
	}
}

// Rows that do not exist, and shapes that do not fit, are bugs that the call names before it enqueues anything.
func TestCopyBugs(t *testing.T) {
	configure(t, "mem=16")
	d := open(t, Spec{})
	q := d.NewQueue("q").(*queue)
	x := gpu.Matrix{Buf: alloc(t, d, 4000, "x"), Rows: 2, Cols: 10, LD: 10}
	src := make([]byte, 120) // three rows
	fewer, narrow, half, apart := x.RowRange(0, 1), x.ColRange(0, 9), x, x
	half.Type, apart.LD = gpu.BF16, 11
	for _, c := range []struct {
		name, want string
		do         func()
	}{
		{"behind the end", "src has 3 rows", func() { q.UploadRows(x, src, []int32{0, 3}) }},
		{"negative", "src has 3 rows", func() { q.UploadRows(x, src, []int32{-1, 0}) }},
		{"part of a row", "src has 2 rows", func() { q.UploadRows(x, src[:119], []int32{2, 0}) }},
		{"too few", "dst has 2 rows", func() { q.UploadRows(x, src, []int32{0}) }},
		{"gaps", "11 elements apart", func() { q.UploadRows(apart, src, []int32{0, 1}) }},
		{"behind a block", "x", func() { q.Upload(x.Buf, 3990, src) }},
		{"before a block", "x", func() { q.Download(src, x.Buf, -1) }},
		{"copy of fewer rows", "dst is 2×10", func() { q.CopyFrom(x, fewer) }},
		{"copy to fewer rows", "dst is 1×10", func() { q.CopyFrom(fewer, x) }},
		{"copy of fewer columns", "src 2×9", func() { q.CopyFrom(x, narrow) }},
		{"copy of another type", "BF16", func() { q.CopyFrom(x, half) }},
	} {
		if msg := panicText(c.do); !strings.Contains(strings.ToLower(msg), strings.ToLower(c.want)) {
			t.Errorf("%s: panic %q does not say %q", c.name, msg, c.want)
		}
	}
	if u := q.Usage(); u.H2D+u.D2H+u.Peer != 0 || len(q.batch) != 0 {
		t.Errorf("counted %+v, %d commands enqueued", u, len(q.batch))
	}
}

// A second device of the same GPU finds the access that the first one was given.
func TestPeerAccessStays(t *testing.T) {
	onlyFake(t, "two GPUs that reach each other")
	configure(t, "n=2;mem=16;p2p=01/10")
	a, b, twin := open(t, Spec{}), open(t, Spec{Ordinal: 1}), open(t, Spec{Ordinal: 1, Name: "twin"})
	for _, d := range []*device{b, twin, b} {
		if !d.NewQueue("q").(*queue).CanCopyFrom(a) {
			t.Errorf("%s does not reach %s", d.info.Name, a.info.Name)
		}
	}
	if b.NewQueue("q").(*queue).CanCopyFrom(nil) {
		t.Error("a GPU reaches what is none")
	}
}

// Time in which a queue has nothing to do is nobody's; what it did counts where it was done.
func TestIdleTime(t *testing.T) {
	configure(t, "mem=16")
	d := open(t, Spec{})
	q := d.NewQueue("q").(*queue)
	m := gpu.Matrix{Buf: alloc(t, d, 4000, "x"), Rows: 1, Cols: 1000, LD: 1000}
	const pause, rounds = 20 * time.Millisecond, 3
	start := time.Now()
	for range rounds {
		q.Fill(m, 1)
		if err := q.Sync(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause)
	}
	q.Axpby(m, 1, m, 0)
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	all := time.Since(start)
	var sum time.Duration
	for _, phase := range q.Usage().Time {
		sum += phase
	}
	if sum > all-rounds*pause {
		t.Errorf("%v counted within %v, of which %v were pauses", sum, all, rounds*pause)
	}
	if u := q.Usage(); u.Time[gpu.PhaseOther] <= 0 || u.Time[gpu.PhaseReduce] <= 0 {
		t.Errorf("fills took %v, the sum %v", u.Time[gpu.PhaseOther], u.Time[gpu.PhaseReduce])
	}
}

// Timing events serve again, and nobody has to ask for times to keep them few.
func TestTimingEventsServeAgain(t *testing.T) {
	configure(t, "mem=16")
	d := open(t, Spec{})
	q := d.NewQueue("q").(*queue)
	m := gpu.Matrix{Buf: alloc(t, d, 4, "x"), Rows: 1, Cols: 1, LD: 1}
	work := func(n int) {
		for range n {
			q.Fill(m, 1)
			q.Axpby(m, 1, m, 0)
			if err := q.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	events := func() (open, idle int) {
		d.do(func() { open, idle = len(q.clock.stamps), len(q.clock.idle) })
		return open, idle
	}
	work(maxStamps)
	if stamps, idle := events(); stamps > maxStamps+8 || stamps+idle > maxStamps+8 {
		t.Errorf("%d timing events are open and %d idle, at most %d are wanted", stamps, idle, maxStamps)
	}
	q.Usage()
	before, idle := events()
	if idle == 0 {
		t.Error("no timing event is kept to serve again")
	}
	work(10)
	q.Usage()
	if after, left := events(); after+left != before+idle {
		t.Errorf("%d timing events, %d after ten more rounds", before+idle, after+left)
	}
}

// A kernel is looked up once, and asks for shared memory beyond what every kernel has once.
func TestFunctions(t *testing.T) {
	configure(t, "mem=16")
	own := load(t, driver.options) // whose kernels nobody has used
	opened, err := own.Open(there(t, own, Spec{}))
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*device)
	d.do(func() {
		first, err := d.primary.function("capgnn_epilogue_backward", 0)
		if err != nil {
			t.Error(err)
			return
		}
		f := d.primary.functions["capgnn_epilogue_backward"]
		for _, c := range []struct{ ask, have uint32 }{{0, plainShared}, {plainShared, plainShared}, {plainShared + 1, plainShared + 1}, {100, plainShared + 1}} {
			if h, err := d.primary.function("capgnn_epilogue_backward", c.ask); err != nil || f.shared != c.have || h != first {
				t.Errorf("%d bytes of shared memory: may have %d, want %d, %v; %x, first %x", c.ask, f.shared, c.have, err, h, first)
			}
		}
		if d.primary.functions["capgnn_epilogue_backward"] != f {
			t.Error("the kernel was looked up again")
		}
		if _, err := d.primary.function("capgnn_nonsense", 0); err == nil || !strings.HasPrefix(err.Error(), "no kernel capgnn_nonsense in the ") {
			t.Errorf("a kernel that there is not: %v", err)
		}
	})
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// Gaps between rows stay behind, whichever side has them.
func TestPeerGaps(t *testing.T) {
	configure(t, "mem=16")
	d, twin := open(t, Spec{}), open(t, Spec{Name: "twin"})
	q := twin.NewQueue("reader").(*queue)
	src, dst := alloc(t, d, 4000, "src"), alloc(t, twin, 4000, "dst")
	want := noise(4000, 9)
	from := d.NewQueue("writer")
	from.Upload(src, 0, want)
	if err := from.Sync(); err != nil {
		t.Fatal(err)
	}
	const rows, cols = 20, 7
	for _, ld := range [][2]int{{cols, cols}, {cols, 11}, {9, cols}, {9, 11}} {
		q.Upload(dst, 0, make([]byte, 4000))
		q.CopyFrom(gpu.Matrix{Buf: dst, Rows: rows, Cols: cols, LD: ld[0]}, gpu.Matrix{Buf: src, Rows: rows, Cols: cols, LD: ld[1]})
		got, expected := make([]byte, 4000), make([]byte, 4000)
		for i := range rows {
			copy(expected[4*ld[0]*i:][:4*cols], want[4*ld[1]*i:])
		}
		q.Download(got, dst, 0)
		if err := q.Sync(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, expected) {
			t.Errorf("rows %d apart from rows %d apart: other bytes than the matrix", ld[0], ld[1])
		}
	}
}
