package pipeline

import (
	"fmt"
	"io"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/contentkey"
)

// Prepared keeps results of the work before the first epoch for later runs: the cut, and the aggregated input
// features of each part. The key of an entry contains everything that the entry depends on. Methods are called from
// several goroutines.
type Prepared interface {
	// Get returns the entry under key, with exactly the bytes that were put; nil: there is none.
	Get(key string) Kept
	// Put stores pieces under key, if it can; failure is not a fault of the run. what names the entry in messages.
	// Pieces are not used after Put has returned.
	Put(key, what string, pieces []Piece)
}

// Kept is an open entry of Prepared.
type Kept interface {
	// Piece returns the bytes of a piece, aligned to 64, nil if there is none of that name. They are valid until Close and
	// must not be changed.
	Piece(name string) []byte
	Close()
}

// Piece is a named run of bytes to be kept.
type Piece struct {
	Name  string
	Size  int64
	Write func(io.Writer) error // writes Size bytes
}

func pieceOf[T hostmem.Numeric](name string, s []T) Piece {
	raw := hostmem.Bytes(s)
	return Piece{Name: name, Size: int64(len(raw)), Write: func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	}}
}

// aggregateKey identifies the aggregated features of a worker's part; "" if they are not kept. Their bits depend on the
// order of the sums, so on the cut, and on the code that runs on the device.
func (t *Trainer) aggregateKey(w *worker) string {
	if t.o.Prepared == nil || t.layout.key == "" || t.p.FeaturesKey == "" {
		return ""
	}
	info := w.Device.Info()
	return contentkey.Of("aggregate 3", t.layout.key, t.p.FeaturesKey, t.o.Model.Identity(), t.o.Storage, w.Index,
		info.Kind, info.Model, info.Variant)
}

// aggregatePiece is the one piece of an entry of aggregated features.
const aggregatePiece = "rows"

// fetchAggregate uploads the aggregated features that an earlier run has kept to m and reports whether there were any.
func (b *builder) fetchAggregate(m gpu.Matrix) bool {
	if b.aggregateKey == "" {
		return false
	}
	kept := b.prepared.Get(b.aggregateKey)
	if kept == nil {
		return false
	}
	defer kept.Close()
	rows := kept.Piece(aggregatePiece)
	if gpu.Bytes(len(rows)) != 4*gpu.Bytes(m.Rows)*gpu.Bytes(m.Cols) {
		return false
	}
	b.send(m.Buf, 0, rows)
	b.Failed = b.Compute.Sync()
	return true
}

func (b *builder) keepAggregate(m gpu.Matrix) {
	if b.aggregateKey == "" {
		return
	}
	size := 4 * gpu.Bytes(m.Rows) * gpu.Bytes(m.Cols)
	b.prepared.Put(b.aggregateKey, fmt.Sprintf("aggregated features of part %d", b.Index), []Piece{{aggregatePiece, int64(size), func(w io.Writer) error {
		chunk := make([]byte, min(size, uploadBytes))
		for at := gpu.Bytes(0); at < size; at += gpu.Bytes(len(chunk)) {
			chunk = chunk[:min(gpu.Bytes(len(chunk)), size-at)]
			b.Compute.Download(chunk, m.Buf, at)
			if err := b.Compute.Sync(); err != nil {
				return err // the queue keeps it, and the next Sync ends the run with it
			}
			if _, err := w.Write(chunk); err != nil {
				return err
			}
		}
		return nil
	}}})
}
