package layered

import (
	"slices"
	"testing"
	"unsafe"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/internal/named"
)

// Bounds says what evaluations take of the process: the memory of tables to the byte, and of the heap at least what slots have.
func TestBoundsOfTheProcess(t *testing.T) {
	for _, kind := range named.Kinds {
		for _, parts := range []int{1, 2, 3} {
			p, m, w := plain(t, kind)
			o := Options{Model: netOf(m), Devices: cpus(t, slices.Repeat([]int{1}, parts)...), Part: make([]int32, p.Vertices()), ChunkBytes: 60_000, Precomputed: kind.Precomputes()}
			for v := range o.Part {
				o.Part[v] = int32(v % parts)
			}
			tables := gpu.Bytes(0)
			o.Tables = func(name string, size int64) (Memory, error) {
				tables += gpu.Bytes(size)
				return poisoned(name, size)
			}
			if parts > 1 {
				o.Rows = make([]bool, p.Vertices())
				for v := range o.Rows {
					o.Rows[v] = v%3 == 0
				}
			}
			if parts > 2 {
				o.Fanout = slices.Repeat([]int{3}, o.Model.Layers)
			}
			b, err := Bounds(p, o)
			if err != nil {
				t.Fatal(err)
			}
			e, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			logits(t, e, w)
			heap := e.need.taken + gpu.Bytes(len(e.need.level)+4*cap(e.sums.row))
			for _, x := range e.places {
				heap += 4 * gpu.Bytes(cap(x.row))
			}
			for _, x := range e.workers {
				heap += x.part.bytes() + gpu.Bytes(len(x.indexer.words))*gpu.Bytes(unsafe.Sizeof(word{}))
				for i := range x.slots {
					s := &x.slots[i]
					heap += 4*gpu.Bytes(cap(s.ids)+cap(s.room)+cap(s.numbers)+cap(s.ratios)+cap(s.weights)+cap(s.indices)+cap(s.rowScale)+cap(s.colScale)+cap(s.dense)+cap(s.values.Weights)+cap(s.values.Indices)) + 8*gpu.Bytes(cap(s.begin)+cap(s.values.Indptr)) + gpu.Bytes(cap(s.out))
				}
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if b.Tables+b.Sums != tables || b.Heap < heap || heap < b.Heap/2 {
				t.Errorf("%s, %d parts: tables take %d, announced %d; the heap has %d, announced %d", kind, parts, tables, b.Tables+b.Sums, heap, b.Heap)
			}
			o.Tables, o.Devices = nil, nil
			for range parts {
				d, err := host.Open(host.Spec{Threads: 1, Memory: 2 * gpu.Bytes(e.tableBytes(0)-1)})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				o.Devices = append(o.Devices, d)
			}
			o.ChunkBytes = 2000
			if b, err := Bounds(p, o); err != nil || b.Tables+b.Sums >= tables {
				t.Errorf("%s: %d bytes of tables announced where they go to files, %v", kind, b.Tables, err)
			}
		}
	}
}
