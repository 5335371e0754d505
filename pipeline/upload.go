package pipeline

import (
	"fmt"
	"slices"
	"sync/atomic"

	"capgnn/gpu"
	"capgnn/gpu/window"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/trainer"
)

// loader puts the arrays of one worker into its device's memory, each distinct host array once. Behind a failed
// allocation it does nothing.
type loader struct {
	trainer.Worker
	side gpu.Queue // carries half of what is large
	// drops says that the device forgets what is uploaded: feature rows need not be gathered for it. accounts says
	// that it does not even ask how many entries a product has.
	drops, accounts bool
	space           *window.Space // where the arrays lie of a part that takes turns on its device; nil: on the device
	seen            map[any]gpu.Buffer
	slots           map[string]gpu.Buffer // nil: distinct arrays have buffers of their own, whatever their names
}

// Alloc takes memory for an array.
func (ld *loader) Alloc(size gpu.Bytes, name string) gpu.Buffer {
	if ld.space == nil || ld.Failed != nil {
		return ld.Worker.Alloc(size, name)
	}
	b, err := ld.space.Alloc(size, name)
	ld.Failed = err
	return b
}

// within is where the part's arrays lie.
func (ld *loader) within() gpu.Device {
	if ld.space != nil {
		return ld.space
	}
	return ld.Device
}

// keepsAccounts reports whether a device counts memory and does nothing else.
func keepsAccounts(dev gpu.Device) bool {
	_, accounts := dev.(interface{ AccountsOnly() })
	return accounts
}

// dropsContent reports whether a device forgets what is uploaded.
func dropsContent(dev gpu.Device) bool {
	d, drops := dev.(interface{ DropsContent() bool })
	return keepsAccounts(dev) || drops && d.DropsContent()
}

// send copies raw to b from byte off on: before anything that is enqueued on q later. raw must stay unchanged until
// q has been synchronised.
func (ld *loader) send(b gpu.Buffer, off gpu.Bytes, raw []byte) {
	if len(raw) == 0 {
		return
	}
	half := len(raw) / 2 &^ 4095 // at a page
	if len(raw) < 2*uploadBytes {
		half = 0
	}
	if half > 0 {
		ld.side.Upload(b, off, raw[:half])
	}
	ld.Compute.Upload(b, off+gpu.Bytes(half), raw[half:])
	if half > 0 {
		ld.Compute.Wait(ld.side.Record())
	}
}

// uploadBytes is the size of the pieces that rows are gathered in: large beside what starting a copy costs, small
// beside memory.
const uploadBytes = 4 << 20

// gatherRows is the number of rows that a goroutine gathers at a time.
const gatherRows = 1 << 9

// gather uploads rows of vertices to m, from one row of it on: each gathered into one of two chunks while the other
// one is under way. row writes that of a vertex.
func (ld *loader) gather(m gpu.Matrix, at int, ids []graph.NodeID, row func(dst []float32, v graph.NodeID)) {
	if ld.Failed != nil || ld.drops {
		return
	}
	step := max(1, uploadBytes/4/m.Cols)
	var chunks [2]struct {
		rows []float32
		sent gpu.Event
	}
	for lo, k := 0, 0; lo < len(ids); lo, k = lo+step, k+1 {
		hi := min(len(ids), lo+step)
		c := &chunks[k%2]
		if c.rows == nil {
			c.rows = make([]float32, min(step, len(ids))*m.Cols)
		} else {
			<-c.sent.Done()
		}
		rows := c.rows[:(hi-lo)*m.Cols]
		graph.EachBlock(hi-lo, gatherRows, func(from, to int) {
			for i := from; i < to; i++ {
				row(rows[i*m.Cols:][:m.Cols], ids[lo+i])
			}
		})
		ld.Compute.Upload(m.Buf, 4*gpu.Bytes(at+lo)*gpu.Bytes(m.Cols), hostmem.Bytes(rows))
		c.sent = ld.Compute.Record()
	}
}

// matrix returns an uninitialised rows × cols float32 matrix.
func (ld *loader) matrix(name string, rows, cols int) gpu.Matrix {
	return gpu.Matrix{Buf: ld.Alloc(4*gpu.Bytes(rows)*gpu.Bytes(cols), name), Rows: rows, Cols: cols, LD: cols}
}

// streamed says of a new buffer that it is read in order, as indices are, and the rows of products; rows that
// neighbours gather are not.
func streamed(b gpu.Buffer) {
	if s, ok := b.(gpu.Streamer); ok {
		s.Streamed()
	}
}

type slice[T gpu.Element] struct {
	first *T
	n     int
}

// room is how many rows and entries a CSR has at most where its slots have had, or get, others; the zero value: as
// many as it has. ends are the rows of those that are cut before a column.
type room struct{ rows, entries, ends int }

// upload returns s in device memory. s must stay unchanged until the queue has been synchronised.
func upload[T gpu.Element](ld *loader, name string, s []T) gpu.Array[T] {
	return put(ld, name, s, len(s))
}

// put is upload into a slot that has memory for most elements, if not for as many as s has. Without any it is empty.
func put[T gpu.Element](ld *loader, name string, s []T, most int) gpu.Array[T] {
	if ld.slots != nil && len(s) > most {
		panic(fmt.Sprintf("pipeline: %s: %d elements, planned %d", name, len(s), most))
	}
	if most = max(most, len(s)); most == 0 || ld.Failed != nil {
		return gpu.Array[T]{}
	}
	var key any = name
	if len(s) > 0 {
		key = slice[T]{&s[0], len(s)}
	}
	if b, ok := ld.seen[key]; ok {
		return gpu.Array[T]{Buf: b, Len: len(s)}
	}
	b := ld.slots[name]
	if b == nil {
		var one [1]T
		if b = ld.Alloc(gpu.Bytes(most)*gpu.Bytes(len(hostmem.Bytes(one[:]))), name); b == nil {
			return gpu.Array[T]{}
		}
		if streamed(b); ld.slots != nil {
			ld.slots[name] = b
		}
	}
	ld.send(b, 0, hostmem.Bytes(s))
	ld.seen[key] = b
	return gpu.Array[T]{Buf: b, Len: len(s)}
}

// csr uploads the first rows of c, each row cut before the first column ≥ cols. val, if not nil, has one value per
// entry of c.
func (ld *loader) csr(name string, c *graph.CSR, rows, cols int, val []float32, most room) gpu.CSR {
	out := gpu.CSR{Rows: rows, Cols: cols, Indices: put(ld, name+" indices", c.Indices, most.entries)}
	if val != nil {
		out.Val = put(ld, name+" values", val, most.entries)
	}
	ptr := put(ld, name+" rows", c.Indptr, most.rows+1)
	if ld.Failed != nil {
		return out
	}
	out.Begin = ptr.Slice(0, rows)
	if cols >= c.Cols {
		out.Cols = c.Cols
		out.End = ptr.Slice(1, rows+1)
		out.Entries = c.Indptr[rows]
		put[int64](ld, name+" row ends", nil, most.ends)
		return out
	}
	if ld.accounts {
		out.End = put(ld, name+" row ends", make([]int64, rows), most.ends)
		return out
	}
	end, entries := rowEnds(c, rows, cols)
	out.End, out.Entries = put(ld, name+" row ends", end, most.ends), entries
	return out
}

// rowEnds returns where the entries below column cols end in each of the first rows of c, and how many there are.
func rowEnds(c *graph.CSR, rows, cols int) (end []int64, entries int64) {
	end = make([]int64, rows)
	var sum atomic.Int64
	graph.EachBlock(rows, 1<<12, func(lo, hi int) {
		entries := int64(0)
		for r := lo; r < hi; r++ {
			k, _ := slices.BinarySearch(c.Row(r), graph.NodeID(cols))
			end[r] = c.Indptr[r] + int64(k)
			entries += int64(k)
		}
		sum.Add(entries)
	})
	return end, sum.Load()
}

// haloCSR uploads the halo part of a block for the rows below rows and the entries whose exchange level is ≥ level.
func (ld *loader) haloCSR(name string, b *graph.Block, rows int, level int, val []float32) gpu.CSR {
	h := &b.Halo
	stored := 0
	for stored < len(h.List) && int(h.List[stored]) < rows {
		stored++
	}
	out := gpu.CSR{Rows: rows, Cols: len(b.IDs)}
	if stored == 0 {
		return out
	}
	end := make([]int64, stored)
	for k := range end {
		lo, hi := h.Indptr[k], h.Indptr[k+1]
		for hi > lo && int(b.Levels[h.Indices[hi-1]]) < level {
			hi--
		}
		end[k] = hi
		out.Entries += hi - lo
	}
	if out.Entries == 0 {
		return out
	}
	out.Indices = upload(ld, name+" indices", h.Indices)
	out.Val = upload(ld, name+" values", val)
	list := upload(ld, name+" list", h.List)
	ptr := upload(ld, name+" rows", h.Indptr)
	ends := upload(ld, name+" row ends", end)
	if ld.Failed != nil {
		return out
	}
	out.Begin, out.RowList, out.End = ptr.Slice(0, stored), list.Slice(0, stored), ends
	return out
}
