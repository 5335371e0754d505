package gnn

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"

	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
	"capgnn/internal/room"
)

// FormatError says that a weights file is malformed, and where.
type FormatError struct {
	File   string
	Offset int64 // bytes from the start of the file
	Msg    string
}

func (e *FormatError) Error() string { return fmt.Sprintf("%s: byte %d: %s", e.File, e.Offset, e.Msg) }

// maxSafetensorsHeader is the limit of the format's reference implementation.
const maxSafetensorsHeader = 100_000_000

// safetensorsEntry is one tensor of a safetensors header. Offsets count from the end of the header.
type safetensorsEntry struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
	name    string
}

// WriteSafetensors writes w with metadata (may be nil) as float32, tensors in name order. Equal weights and metadata give
// equal bytes. The file appears at path whole or not at all: it is written beside it, synced, then renamed.
func WriteSafetensors(path string, w *Weights, metadata map[string]string) error {
	header, err := safetensorsHeader(w, metadata)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return atomicfile.Write(path, func(f io.Writer) error {
		if err := binary.Write(f, binary.LittleEndian, uint64(len(header))); err != nil {
			return err
		}
		if _, err := f.Write(header); err != nil {
			return err
		}
		for _, t := range w.byName() {
			if err := writeFloats(f, t.Data); err != nil {
				return err
			}
		}
		return nil
	})
}

// safetensorsHeader returns the JSON header, padded with blanks so that the data starts at a multiple of 8 bytes.
func safetensorsHeader(w *Weights, metadata map[string]string) ([]byte, error) {
	entries := map[string]any{} // encoding/json writes maps in key order
	if len(metadata) > 0 {
		for k, v := range metadata {
			if !utf8.ValidString(k) || !utf8.ValidString(v) {
				return nil, fmt.Errorf("metadata %q is not UTF-8", k)
			}
		}
		entries["__metadata__"] = metadata
	}
	var off uint64
	for _, t := range w.byName() {
		end := off + 4*uint64(len(t.Data))
		entries[t.Name] = safetensorsEntry{DType: "F32", Shape: t.Shape, Offsets: []uint64{off, end}}
		off = end
	}
	header, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	if len(header) > maxSafetensorsHeader {
		return nil, fmt.Errorf("header of %d bytes, the format allows %d", len(header), maxSafetensorsHeader)
	}
	return header, nil
}

// ReadSafetensors returns the tensors of a safetensors file, F64, F16 and BF16 converted to float32 (F64 rounded to
// nearest). What the format forbids is a *FormatError: tensors that overlap, leave gaps or do not end with the file, sizes
// that contradict shapes, names given twice. Memory use is bounded by twice the file's size.
func ReadSafetensors(path string) (StateDict, error) {
	return openSafetensors(path, readSafetensors)
}

// ReadMetadata returns what a safetensors file says of itself, empty if it says nothing. Errors are those of ReadSafetensors.
func ReadMetadata(path string) (map[string]string, error) {
	return openSafetensors(path, func(r io.Reader, size int64, path string) (map[string]string, error) {
		_, meta, _, err := readSafetensorsHeader(r, size, path)
		return meta, err
	})
}

// openSafetensors has read read a file.
func openSafetensors[T any](path string, read func(r io.Reader, size int64, path string) (T, error)) (none T, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return none, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return none, err
	}
	return read(bufio.NewReaderSize(f, 1<<16), info.Size(), path)
}

// readSafetensorsHeader returns the entries of a file of size bytes, its metadata, and where its data begin.
func readSafetensorsHeader(r io.Reader, size int64, path string) (entries []safetensorsEntry, meta map[string]string, base int64, err error) {
	bad := func(off int64, format string, a ...any) error {
		return &FormatError{path, off, fmt.Sprintf(format, a...)}
	}
	var word [8]byte
	if _, err := io.ReadFull(r, word[:]); err != nil {
		return nil, nil, 0, bad(0, "file of %d bytes ends in the header length", size)
	}
	n := binary.LittleEndian.Uint64(word[:])
	if n > maxSafetensorsHeader || int64(n) > size-8 {
		return nil, nil, 0, bad(0, "header of %d bytes in a file of %d", n, size)
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, nil, 0, bad(8, "read header: %v", err)
	}
	if entries, meta, err = parseSafetensorsHeader(header); err != nil {
		return nil, nil, 0, bad(8, "header: %v", err)
	}
	return entries, meta, 8 + int64(n), nil
}

// readSafetensors reads a file of size bytes from r; path is for errors only.
func readSafetensors(r io.Reader, size int64, path string) (StateDict, error) {
	bad := func(off int64, format string, a ...any) error {
		return &FormatError{path, off, fmt.Sprintf(format, a...)}
	}
	entries, _, base, err := readSafetensorsHeader(r, size, path)
	if err != nil {
		return nil, err
	}
	if err := checkSafetensorsEntries(entries, uint64(size-base)); err != nil {
		return nil, bad(8, "header: %v", err)
	}
	if err := room.For(2 * (size - base)); err != nil { // half-precision numbers double
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := make(StateDict, len(entries))
	for _, e := range entries {
		if e.counts() {
			if _, err := io.CopyN(io.Discard, r, int64(e.Offsets[1]-e.Offsets[0])); err != nil {
				return nil, bad(base+int64(e.Offsets[0]), "read tensor %q: %v", e.name, err)
			}
			continue
		}
		data, err := readFloats(r, e.DType, int64(e.Offsets[1]-e.Offsets[0]))
		if err != nil {
			return nil, bad(base+int64(e.Offsets[0]), "read tensor %q: %v", e.name, err)
		}
		if len(data) == 0 {
			return nil, bad(base+int64(e.Offsets[0]), "tensor %q has shape %v, so no element: remove it from the file", e.name, e.Shape)
		}
		out[e.name] = &Tensor{Name: e.name, Shape: e.Shape, Data: data}
	}
	return out, nil
}

// parseSafetensorsHeader returns the entries of a header in the order of their data, and its metadata.
func parseSafetensorsHeader(header []byte) (entries []safetensorsEntry, meta map[string]string, err error) {
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, fmt.Errorf("is not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(header))
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		name, _ := key.(string)
		if seen[name] {
			return nil, nil, fmt.Errorf("name %q occurs twice", name)
		}
		seen[name] = true
		if name == "__metadata__" {
			if err := d.Decode(&meta); err != nil {
				return nil, nil, fmt.Errorf("metadata: %v", err)
			}
			continue
		}
		e := safetensorsEntry{name: name}
		if err := d.Decode(&e); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %v", name, err)
		}
		entries = append(entries, e)
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, nil, fmt.Errorf("data after the JSON object")
	}
	return entries, meta, nil
}

// counts reports whether a tensor is an integer by which torch counts batches.
func (e safetensorsEntry) counts() bool {
	_, ok := counts(e.name)
	return ok && e.DType == "I64"
}

// checkSafetensorsEntries sorts entries by position and checks that they fill size bytes of data exactly.
func checkSafetensorsEntries(entries []safetensorsEntry, size uint64) error {
	for _, e := range entries {
		width := dtypeBytes(e.DType)
		if e.counts() {
			width = 8
		}
		if width == 0 {
			return fmt.Errorf("tensor %q: dtype %q is not F32, F64, F16 or BF16", e.name, e.DType)
		}
		if len(e.Offsets) != 2 || e.Offsets[0] > e.Offsets[1] || e.Offsets[1] > size {
			return fmt.Errorf("tensor %q: offsets %v are not a range in %d bytes of data", e.name, e.Offsets, size)
		}
		if e.Shape == nil {
			return fmt.Errorf("tensor %q: no shape", e.name)
		}
		need := width
		for _, d := range e.Shape {
			if d < 0 || d != 0 && need > math.MaxInt64/uint64(d) {
				return fmt.Errorf("tensor %q: shape %v is impossible", e.name, e.Shape)
			}
			need *= uint64(d)
		}
		if need != e.Offsets[1]-e.Offsets[0] {
			return fmt.Errorf("tensor %q: shape %v needs %d bytes, its range has %d",
				e.name, e.Shape, need, e.Offsets[1]-e.Offsets[0])
		}
	}
	slices.SortFunc(entries, func(a, b safetensorsEntry) int {
		return cmp.Or(cmp.Compare(a.Offsets[0], b.Offsets[0]), cmp.Compare(a.Offsets[1], b.Offsets[1]))
	})
	var end uint64
	for _, e := range entries {
		if e.Offsets[0] != end {
			return fmt.Errorf("tensor %q: starts at %d, the one before ends at %d", e.name, e.Offsets[0], end)
		}
		end = e.Offsets[1]
	}
	if end != size {
		return fmt.Errorf("tensors end at %d of %d bytes of data", end, size)
	}
	return nil
}
