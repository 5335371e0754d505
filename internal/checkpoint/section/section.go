package section

import (
	"bytes"
	"io"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
)

// device is memory of a device: each read downloads the next bytes.
type device struct {
	q      gpu.Queue
	settle func(...gpu.Queue) error
	buf    gpu.Buffer
	at     gpu.Bytes // of the next byte
	left   gpu.Bytes
	size   gpu.Bytes
	check  func(part []byte) error // nil: whatever it holds is written
}

// OfDevice returns size bytes of a buffer from byte at on, by way of a queue. settle waits until queues have run everything, and returns their
// first fault: Sync does, for as long as it takes. check, if not nil, sees every piece before it is written, and may refuse it.
func OfDevice(q gpu.Queue, settle func(...gpu.Queue) error, buf gpu.Buffer, at, size gpu.Bytes, check func(part []byte) error) checkpoint.Section {
	return &device{q: q, settle: settle, buf: buf, at: at, left: size, size: size, check: check}
}

// Size implements checkpoint.Section.
func (s *device) Size() int64 { return int64(s.size) }

// Read implements io.Reader.
func (s *device) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(gpu.Bytes(len(p)), s.left)]
	s.q.Download(p, s.buf, s.at)
	if err := s.settle(s.q); err != nil {
		return 0, err
	}
	s.at, s.left = s.at+gpu.Bytes(len(p)), s.left-gpu.Bytes(len(p))
	if s.check == nil {
		return len(p), nil
	}
	return len(p), s.check(p)
}

// Place is where the bytes of a section go on a device.
type Place struct {
	Queue gpu.Queue
	Buf   gpu.Buffer
	At    gpu.Bytes
}

// Upload uploads a section to one or more places, by way of piece.
func Upload(s checkpoint.Section, piece []byte, to ...Place) error {
	for done := gpu.Bytes(0); int64(done) < checkpoint.Size(s); {
		part := piece[:min(int64(len(piece)), s.Size()-int64(done))]
		if _, err := io.ReadFull(s, part); err != nil {
			return err
		}
		for _, p := range to {
			p.Queue.Upload(p.Buf, p.At+done, part)
			if err := p.Queue.Sync(); err != nil {
				return err
			}
		}
		done += gpu.Bytes(len(part))
	}
	return nil
}

// joined presents several pieces of memory as one section.
type joined struct {
	io.Reader
	size int64
}

// Size implements checkpoint.Section.
func (s joined) Size() int64 { return s.size }

// Of returns what a reader has as a section of size bytes.
func Of(r io.Reader, size int64) checkpoint.Section { return joined{r, size} }

// Floats returns arrays of the host, one behind the other, as a section; nil if they are empty.
func Floats(arrays ...[]float32) checkpoint.Section {
	var all []io.Reader
	var size int64
	for _, x := range arrays {
		mem := hostmem.Bytes(x)
		all, size = append(all, bytes.NewReader(mem)), size+int64(len(mem))
	}
	if size == 0 {
		return nil
	}
	return joined{io.MultiReader(all...), size}
}

// NotFinite says that what a checkpoint is to hold is no number: nobody could go on from it.
type NotFinite struct{ What string }

func (e *NotFinite) Error() string {
	return e.What + " are not finite: no checkpoint is written: try a lower learning rate, or look for extreme features or edge weights"
}

// Finite reports whether there is neither NaN nor infinity.
func Finite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}
