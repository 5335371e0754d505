package window

import (
	"cmp"
	"fmt"
	"slices"

	"capgnn/gpu"
)

// Window is memory of a device that spaces use in turns. It belongs to one of them at a time.
type Window struct {
	dev  gpu.Device
	buf  gpu.Buffer
	size gpu.Bytes

	// Spoil, if not nil, is called where the content of the window is lost. For tests.
	Spoil func(q gpu.Queue, buf gpu.Buffer)
}

// New returns a window of a device, without memory.
func New(dev gpu.Device) *Window { return &Window{dev: dev} }

// Size is what the window takes of the device's memory.
func (w *Window) Size() gpu.Bytes { return w.size }

// Reach makes the window as large as a size. What lay in it is lost; the device's queues must be synchronised.
func (w *Window) Reach(size gpu.Bytes) error {
	if size <= w.size {
		return nil
	}
	w.Free()
	b, err := w.dev.Alloc(size, "window")
	if err == nil {
		w.buf, w.size = b, size
	}
	return err
}

// Free gives the memory back.
func (w *Window) Free() {
	if w.buf != nil {
		w.buf.Free()
		w.buf, w.size = nil, 0
	}
}

// alignment is of blocks in a window: what a device has of its own.
const alignment gpu.Bytes = 256

// Space is what one part has in a window in its turns.
type Space struct {
	w      *Window
	q      gpu.Queue
	host   HostMemory
	drops  bool     // the device forgets content: blocks need no copy in host memory
	blocks []*block // by place
	size   gpu.Bytes
	copied gpu.Bytes // host memory of copies
	most   gpu.Bytes // of copied until now
	err    error

	// Outside of scripts:
	here, dirty set // what lies in the window, and what of that has no copy

	notes  *Script // that is recorded; nil: none is
	script *Script // that is under way; nil: none is
	turn   int     // of it
}

var _ gpu.Device = (*Space)(nil)

// HostMemory takes host memory for the copy of a block, and returns how it is given back.
type HostMemory func(name string, size gpu.Bytes) (mem []byte, free func(), err error)

// NewSpace returns a space whose operations run on q. host gives memory for the copies of blocks; nil: the device drops
// content.
func (w *Window) NewSpace(q gpu.Queue, host HostMemory) *Space {
	return &Space{w: w, q: q, host: host, drops: host == nil, here: set{}, dirty: set{}}
}

// block is a gpu.Buffer of a space.
type block struct {
	s        *Space
	name     string
	at, size gpu.Bytes
	copied   bool   // it has a copy in host memory
	mem      []byte // the copy; nil: the device drops content
	forget   func() // gives mem back; nil: there is none
	full     spans  // what mem has content of
}

// Size implements gpu.Buffer.
func (b *block) Size() gpu.Bytes { return b.size }

// Free implements gpu.Buffer. The queue must be synchronised.
func (b *block) Free() {
	s := b.s
	k := slices.Index(s.blocks, b)
	if k < 0 {
		panic(fmt.Sprintf("window: block %q is freed twice", b.name))
	}
	s.blocks = slices.Delete(s.blocks, k, k+1)
	delete(s.here, b)
	delete(s.dirty, b)
	if b.copied {
		s.copied -= b.size
	}
	if b.forget != nil {
		b.forget()
	}
}

// Uploaded says of a block whose content the device drops that all of it has been uploaded.
func (s *Space) Uploaded(buf gpu.Buffer) {
	b := buf.(*block)
	s.copyOf(b)
	b.full = spans{{0, b.size}}
}

// Info implements gpu.Device.
func (s *Space) Info() gpu.Info { return s.w.dev.Info() }

// Memory implements gpu.Device.
func (s *Space) Memory() gpu.Memory { return s.w.dev.Memory() }

// NewQueue implements gpu.Device: there is one queue for blocks.
func (s *Space) NewQueue(string) gpu.Queue { return s.Queue() }

// Close implements gpu.Device.
func (s *Space) Close() error { return nil }

// Alloc implements gpu.Device. A block lies in the first gap that it fits into.
func (s *Space) Alloc(n gpu.Bytes, name string) (gpu.Buffer, error) {
	b := &block{s: s, name: name, size: n}
	k := 0
	for ; k < len(s.blocks) && s.blocks[k].at-b.at < n; k++ {
		end := s.blocks[k].at + s.blocks[k].size
		b.at = (end + alignment - 1) / alignment * alignment
	}
	s.blocks = slices.Insert(s.blocks, k, b)
	s.size = max(s.size, b.at+n)
	return b, nil
}

// Size is what the window has to reach for the space.
func (s *Space) Size() gpu.Bytes { return s.size }

// HostSize is the host memory of copies: now, and the most until now.
func (s *Space) HostSize() (now, most gpu.Bytes) { return s.copied, s.most }

// Err returns the first error of memory.
func (s *Space) Err() error { return s.err }

// copyOf returns the copy of a block in host memory, which is made when it is asked for first.
func (s *Space) copyOf(b *block) []byte {
	if !b.copied && s.err == nil {
		s.copied += b.size
		s.most = max(s.most, s.copied)
		if b.copied = true; !s.drops && b.size > 0 {
			b.mem, b.forget, s.err = s.host(b.name, b.size)
		}
	}
	return b.mem
}

// raise enqueues copies from the host to the window.
func (s *Space) raise(list set) {
	for _, b := range list.blocks() {
		mem := s.copyOf(b)
		for _, x := range list[b] {
			if s.err == nil && !s.drops {
				s.q.Upload(s.w.buf, b.at+x.lo, mem[x.lo:x.hi])
			}
		}
	}
}

// lower enqueues copies from the window to the host.
func (s *Space) lower(list set) {
	for _, b := range list.blocks() {
		mem := s.copyOf(b)
		for _, x := range list[b] {
			if s.err == nil && !s.drops {
				s.q.Download(mem[x.lo:x.hi], s.w.buf, b.at+x.lo)
			}
		}
	}
}

// blocks returns those of a set by their place.
func (s set) blocks() (list []*block) {
	for b := range s {
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b *block) int { return cmp.Compare(a.at, b.at) })
	return list
}

// size is what a set has.
func (s set) size() (n gpu.Bytes) {
	for _, list := range s {
		for _, x := range list {
			n += x.hi - x.lo
		}
	}
	return n
}

// Settle takes down what operations outside of scripts have written, and waits for that. The window may then have
// another user.
func (s *Space) Settle() error {
	s.lower(s.dirty)
	for b, list := range s.dirty {
		for _, x := range list {
			b.full = b.full.add(x.lo, x.hi)
		}
	}
	s.here, s.dirty = set{}, set{}
	err := s.q.Sync()
	if s.err != nil {
		return s.err
	}
	return err
}

// bring makes the window ready for an operation outside of scripts.
func (s *Space) bring(reads, writes set) {
	if len(reads)+len(writes) == 0 {
		return
	}
	if s.size > s.w.size && s.err == nil {
		if s.err = s.Settle(); s.err == nil {
			s.err = s.w.Reach(s.size)
		}
	}
	if s.err != nil {
		return
	}
	full := set{}
	for b := range reads {
		full[b] = b.full
	}
	s.raise(reads.and(full).without(s.here))
	s.here, s.dirty = s.here.or(reads).or(writes), s.dirty.or(writes)
}
