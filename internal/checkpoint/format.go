package checkpoint

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// A checkpoint file, all numbers little endian:
//
//	8 bytes   "CAPGNNCK"
//	uint32    version, 1
//	uint32    number of sections
//	sections  uint16 length of the name, the name, uint64 length of the content, the content
//	32 bytes  SHA-256 of everything before
//
// Sections come in this order; optional ones are left out where they are empty:
//
//	identity      the identity's bytes
//	counters      int64 epoch, int64 step
//	weights, m, v, vmax, best_weights    float32 each, as they lie in memory; all but weights optional, of the length of weights
//	best          scores as JSON, optional
//	state         opaque, optional
//	x/NAME        File.Sections, in name order
const (
	magic      = "CAPGNNCK"
	version    = 1
	headerSize = len(magic) + 4 + 4
	extra      = "x/"
	nameLimit  = 255
)

// Piece is how many bytes of a section are in memory at once while a file is written; who reads one does well to take as many.
const Piece = 1 << 20

// section is one block of a checkpoint.
type section struct {
	name    string
	content Section // nil: none
}

// sections lists the blocks of a checkpoint in file order.
func (c *File) sections() ([]section, error) {
	counters := binary.LittleEndian.AppendUint64(nil, uint64(c.Epoch))
	counters = binary.LittleEndian.AppendUint64(counters, uint64(c.Step))
	ss := []section{
		{"identity", strings.NewReader(c.Identity)},
		{"counters", bytes.NewReader(counters)},
		{"weights", c.Weights},
	}
	for _, s := range []section{{"m", c.M}, {"v", c.V}, {"vmax", c.VMax}, {"best_weights", c.BestWeights}} {
		switch n := Size(s.content); {
		case n == 0:
		case n != Size(c.Weights):
			return nil, fmt.Errorf("checkpoint section %s has %d bytes, weights %d", s.name, n, Size(c.Weights))
		default:
			ss = append(ss, s)
		}
	}
	if len(c.Best) != 0 {
		if !json.Valid(c.Best) {
			return nil, errors.New("checkpoint section best is not JSON")
		}
		ss = append(ss, section{"best", bytes.NewReader(c.Best)})
	}
	if len(c.State) != 0 {
		ss = append(ss, section{"state", bytes.NewReader(c.State)})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Sections)) {
		if len(name) > nameLimit-len(extra) {
			return nil, fmt.Errorf("checkpoint section name of %d bytes", len(name))
		}
		ss = append(ss, section{extra + name, c.Sections[name]})
	}
	return ss, nil
}

// encode writes c in the format above, a piece at a time. Equal checkpoints give equal bytes.
func encode(w io.Writer, c *File) error {
	if c.Epoch < 0 || c.Step < 0 {
		return fmt.Errorf("checkpoint of epoch %d, step %d", c.Epoch, c.Step)
	}
	ss, err := c.sections()
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(w, 1<<16)
	sum := sha256.New()
	both := io.MultiWriter(buf, sum)
	head := binary.LittleEndian.AppendUint32([]byte(magic), version)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(ss)))
	if _, err := both.Write(head); err != nil {
		return err
	}
	piece := make([]byte, Piece)
	for _, s := range ss {
		head = binary.LittleEndian.AppendUint16(head[:0], uint16(len(s.name)))
		head = append(head, s.name...)
		head = binary.LittleEndian.AppendUint64(head, uint64(Size(s.content)))
		if _, err := both.Write(head); err != nil {
			return err
		}
		if Size(s.content) == 0 {
			continue
		}
		n, err := io.CopyBuffer(both, s.content, piece)
		if err == nil && n != s.content.Size() {
			err = fmt.Errorf("%d bytes, not %d", n, s.content.Size())
		}
		if err != nil {
			if unwritten := buf.Flush(); unwritten != nil { // whatever the section is
				return unwritten
			}
			return fmt.Errorf("section %s: %w", s.name, err)
		}
	}
	if _, err := buf.Write(sum.Sum(nil)); err != nil {
		return err
	}
	return buf.Flush()
}

// span is where a section's content lies in a file.
type span struct {
	name      string
	off, size int64
}

// decode reads a file of size bytes; name is for errors only. It walks the section heads and checks the sum. Large
// sections stay in the file, whose sections read it when they are read.
func decode(r io.ReaderAt, size int64, name string) (*File, error) {
	bad := func(off int64, format string, a ...any) error {
		return &FormatError{name, off, fmt.Sprintf(format, a...)}
	}
	spans, err := walk(r, size, bad)
	if err != nil {
		return nil, err
	}
	body := size - sha256.Size
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r, 0, body)); err != nil {
		return nil, bad(0, "read: %v", err)
	}
	var want [sha256.Size]byte
	if err := readFullAt(r, want[:], body); err != nil {
		return nil, bad(body, "read: %v", err)
	}
	if !bytes.Equal(sum.Sum(nil), want[:]) {
		return nil, bad(body, "checksum does not match the content: the file is damaged")
	}
	c := &File{}
	for _, s := range spans {
		if err := c.take(r, s); err != nil {
			return nil, bad(s.off, "section %q: %v", s.name, err)
		}
	}
	if err := c.check(spans, bad); err != nil {
		return nil, err
	}
	return c, nil
}

// walk returns the places of a file's sections. Every one lies within the file, none occurs twice.
func walk(r io.ReaderAt, size int64, bad func(int64, string, ...any) error) ([]span, error) {
	body := size - sha256.Size
	if body < int64(headerSize) {
		return nil, bad(size, "file ends in its header")
	}
	head := make([]byte, headerSize)
	if err := readFullAt(r, head, 0); err != nil {
		return nil, bad(0, "read: %v", err)
	}
	if string(head[:len(magic)]) != magic {
		return nil, bad(0, "is not a checkpoint")
	}
	if v := binary.LittleEndian.Uint32(head[len(magic):]); v != version {
		return nil, bad(int64(len(magic)), "version %d, this program reads %d", v, version)
	}
	count := binary.LittleEndian.Uint32(head[len(magic)+4:])
	var spans []span
	seen := map[string]bool{}
	off := int64(headerSize)
	for k := range count {
		var word [8]byte
		if off+2 > body || readFullAt(r, word[:2], off) != nil {
			return nil, bad(off, "file ends before section %d of %d", k+1, count)
		}
		n := int64(binary.LittleEndian.Uint16(word[:]))
		if n > nameLimit || off+2+n+8 > body {
			return nil, bad(off, "file ends in the head of section %d of %d", k+1, count)
		}
		label := make([]byte, n+8)
		if err := readFullAt(r, label, off+2); err != nil {
			return nil, bad(off, "read: %v", err)
		}
		s := span{name: string(label[:n]), off: off + 2 + n + 8}
		length := binary.LittleEndian.Uint64(label[n:])
		if length > uint64(body-s.off) {
			return nil, bad(off, "section %q of %d bytes, %d are left", s.name, length, body-s.off)
		}
		if seen[s.name] {
			return nil, bad(off, "section %q occurs twice", s.name)
		}
		seen[s.name] = true
		s.size = int64(length)
		spans = append(spans, s)
		off = s.off + s.size
	}
	if off != body {
		return nil, bad(off, "%d bytes after the last section", body-off)
	}
	return spans, nil
}

// take puts one section into c: small ones are read.
func (c *File) take(r io.ReaderAt, s span) error {
	content := io.NewSectionReader(r, s.off, s.size)
	arrays := map[string]*Section{"weights": &c.Weights, "m": &c.M, "v": &c.V, "vmax": &c.VMax, "best_weights": &c.BestWeights}
	if to := arrays[s.name]; to != nil {
		if *to = content; s.size%4 != 0 {
			return fmt.Errorf("%d bytes are not a number of float32", s.size)
		}
		return nil
	}
	if extra, isExtra := strings.CutPrefix(s.name, extra); isExtra {
		if c.Sections == nil {
			c.Sections = map[string]Section{}
		}
		c.Sections[extra] = content
		return nil
	}
	data := make([]byte, s.size)
	if err := readFullAt(r, data, s.off); err != nil {
		return err
	}
	switch s.name {
	case "identity":
		c.Identity = string(data)
	case "counters":
		if len(data) != 16 {
			return fmt.Errorf("%d bytes, want 16", len(data))
		}
		epoch, step := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		if epoch > math.MaxInt || step > math.MaxInt {
			return fmt.Errorf("epoch %d, step %d", int64(epoch), int64(step))
		}
		c.Epoch, c.Step = int(epoch), int(step)
	case "best":
		if c.Best = data; !json.Valid(data) {
			return errors.New("is not JSON")
		}
	case "state":
		c.State = data
	default:
		return fmt.Errorf("is unknown")
	}
	return nil
}

// check holds the sections of a file against each other.
func (c *File) check(spans []span, bad func(int64, string, ...any) error) error {
	for _, need := range []string{"identity", "counters", "weights"} {
		if !slices.ContainsFunc(spans, func(s span) bool { return s.name == need }) {
			return bad(0, "section %q is missing", need)
		}
	}
	for _, x := range []Section{c.M, c.V, c.VMax, c.BestWeights} {
		if n := Size(x); n != 0 && n != Size(c.Weights) {
			return bad(0, "an array of %d elements beside %d weights", n/4, Size(c.Weights)/4)
		}
	}
	return nil
}

// readFullAt fills b from byte off on; a file that ends early is an error.
func readFullAt(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	return err
}
