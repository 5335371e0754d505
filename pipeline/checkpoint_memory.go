package pipeline

import (
	"bytes"
	"io"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
)

// deviceSection is memory of a device as a section of a checkpoint: each read downloads the next bytes. Nothing else of the device may be
// at work.
type deviceSection struct {
	q     gpu.Queue
	buf   gpu.Buffer
	at    gpu.Bytes // of the next byte
	left  gpu.Bytes
	size  gpu.Bytes
	check func(part []byte) error // nil: whatever it holds is written
}

func newDeviceSection(q gpu.Queue, buf gpu.Buffer, at, size gpu.Bytes, check func([]byte) error) *deviceSection {
	return &deviceSection{q: q, buf: buf, at: at, left: size, size: size, check: check}
}

// Size implements Section.
func (s *deviceSection) Size() int64 { return int64(s.size) }

// Read implements io.Reader.
func (s *deviceSection) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(gpu.Bytes(len(p)), s.left)]
	s.q.Download(p, s.buf, s.at)
	if err := s.q.Sync(); err != nil {
		return 0, err
	}
	s.at, s.left = s.at+gpu.Bytes(len(p)), s.left-gpu.Bytes(len(p))
	if s.check == nil {
		return len(p), nil
	}
	return len(p), s.check(p)
}

// vector returns a device vector as a section; nil if it is empty.
func (w *worker) vector(v gpu.Vec, check func([]byte) error) checkpoint.Section {
	if v.Len == 0 {
		return nil
	}
	return newDeviceSection(w.compute, v.Buf, 4*gpu.Bytes(v.Off), 4*gpu.Bytes(v.Len), check)
}

// place is where the bytes of a section go on a device.
type place struct {
	q   gpu.Queue
	buf gpu.Buffer
	at  gpu.Bytes
}

// placeOf is where a vector lies.
func (w *worker) placeOf(v gpu.Vec) place { return place{w.compute, v.Buf, 4 * gpu.Bytes(v.Off)} }

// uploadSection uploads a section to one or more places, a piece at a time, so it takes the memory of one piece.
func uploadSection(s checkpoint.Section, piece []byte, to ...place) error {
	for done := gpu.Bytes(0); int64(done) < checkpoint.Size(s); {
		part := piece[:min(int64(len(piece)), s.Size()-int64(done))]
		if _, err := io.ReadFull(s, part); err != nil {
			return err
		}
		for _, p := range to {
			p.q.Upload(p.buf, p.at+done, part)
			if err := p.q.Sync(); err != nil {
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

// Size implements Section.
func (s joined) Size() int64 { return s.size }

// floats returns arrays of the host, one behind the other, as a section; nil if they are empty.
func floats(arrays ...[]float32) checkpoint.Section {
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
