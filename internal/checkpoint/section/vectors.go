package section

import (
	"io"

	"capgnn/gpu"
	"capgnn/internal/checkpoint"
)

// Vector is elements on a device, with the queue by which they are read and written. Settle waits until queues have run everything.
type Vector struct {
	Queue  gpu.Queue
	Settle func(...gpu.Queue) error
	gpu.Vec
}

// Section returns the elements as a section; nil if there are none. check is OfDevice's.
func (v Vector) Section(check func([]byte) error) checkpoint.Section {
	if v.Len == 0 {
		return nil
	}
	return OfDevice(v.Queue, v.Settle, v.Buf, 4*gpu.Bytes(v.Off), 4*gpu.Bytes(v.Len), check)
}

// Place is where the elements lie.
func (v Vector) Place() Place { return Place{Queue: v.Queue, Buf: v.Buf, At: 4 * gpu.Bytes(v.Off)} }

// Scattered is a vector whose elements lie one behind the other on several devices.
type Scattered []Vector

func (s Scattered) len() int {
	n := 0
	for _, v := range s {
		n += v.Len
	}
	return n
}

// Section returns the vector as a section of a checkpoint; nil if it is empty.
func (s Scattered) Section(check func([]byte) error) checkpoint.Section {
	if s.len() == 0 {
		return nil
	}
	var all []io.Reader
	for _, v := range s {
		if v.Len > 0 {
			all = append(all, v.Section(check))
		}
	}
	return Of(io.MultiReader(all...), 4*int64(s.len()))
}

// Load puts a section back, by way of piece. The vector is as large, or empty: then another process has it, and the section is passed over.
func (s Scattered) Load(from checkpoint.Section, piece []byte) error {
	if s.len() == 0 && from != nil {
		_, err := io.CopyBuffer(io.Discard, Of(from, from.Size()), piece)
		return err
	}
	for _, v := range s {
		if err := Upload(Of(from, 4*int64(v.Len)), piece, v.Place()); err != nil {
			return err
		}
	}
	return nil
}
