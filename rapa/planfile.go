package rapa

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"capgnn/internal/atomicfile"
)

// A plan file is, in this order (numbers little-endian):
//
//	8 bytes   "CAPGPLAN"
//	uint32    version of the format
//	uint32    bytes of the header, at most maxHeader
//	header    JSON: everything of a Plan but Part and Seconds, and the number of vertices
//	uint16×n  part of every vertex
//	32 bytes  SHA-256 of everything before
const (
	planMagic          = "CAPGPLAN"
	planVersion uint32 = 1
	maxHeader          = 1 << 22
)

// FormatError says that a plan file is not one, or is damaged.
type FormatError struct {
	File   string
	Offset int64 // byte at which the fault was noticed
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("plan file %s: byte %d: %s; partition again", e.File, e.Offset, e.Reason)
}

// header is the JSON part of a plan file.
type header struct {
	Key      string    `json:"key"`
	Method   Method    `json:"method"`
	Seed     uint64    `json:"seed"`
	Targets  []float64 `json:"targets"`
	Vertices int64     `json:"vertices"`
	Parts    []Stats   `json:"parts"`
	EdgeCut  int64     `json:"edge_cut"`
	Volume   int64     `json:"volume"`
	Balance  Balance   `json:"balance"`
}

// WritePlan writes p to a file, whole or not at all. Equal plans give equal bytes.
func WritePlan(path string, p *Plan) error {
	return atomicfile.Write(path, func(w io.Writer) error { return encodePlan(w, p) })
}

func encodePlan(w io.Writer, p *Plan) error {
	head, err := json.Marshal(header{
		Key: p.Key, Method: p.Method, Seed: p.Seed, Targets: p.Targets, Vertices: int64(len(p.Part)),
		Parts: p.Parts, EdgeCut: p.EdgeCut, Volume: p.Volume, Balance: p.Balance,
	})
	if err != nil {
		return err
	}
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16)
	out.WriteString(planMagic)
	out.Write(binary.LittleEndian.AppendUint32(nil, planVersion))
	out.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(head))))
	out.Write(head)
	for _, q := range p.Part {
		out.WriteByte(byte(q))
		out.WriteByte(byte(q >> 8))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err = w.Write(sum.Sum(nil))
	return err
}

// ReadPlan reads a plan file. A file that is not a sound plan gives a *FormatError; memory in use stays within a small
// multiple of the file's size. Whether the plan belongs to a graph is for the caller to see by Key.
func ReadPlan(path string) (*Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	defer f.Close()
	return decodePlan(f, path)
}

func decodePlan(r io.Reader, name string) (*Plan, error) {
	bad := func(off int64, format string, a ...any) (*Plan, error) {
		return nil, &FormatError{name, off, fmt.Sprintf(format, a...)}
	}
	sum := sha256.New()
	in := io.TeeReader(r, sum)
	fixed := make([]byte, 16)
	if _, err := io.ReadFull(in, fixed); err != nil || string(fixed[:8]) != planMagic {
		return bad(0, "not a plan of capgnn")
	}
	if v := binary.LittleEndian.Uint32(fixed[8:]); v != planVersion {
		return bad(8, "version %d, this program reads version %d", v, planVersion)
	}
	size := int64(binary.LittleEndian.Uint32(fixed[12:]))
	if size > maxHeader {
		return bad(12, "header of %d bytes is longer than %d", size, maxHeader)
	}
	head, err := io.ReadAll(io.LimitReader(in, size))
	if err != nil || int64(len(head)) < size {
		return bad(16+int64(len(head)), "file ends inside the header")
	}
	var h header
	if err := json.Unmarshal(head, &h); err != nil {
		return bad(16, "header: %v", err)
	}
	if h.Vertices < 1 || h.Vertices > 1<<31-1 || len(h.Parts) < 1 || len(h.Parts) > maxParts {
		return bad(16, "header: %d vertices in %d parts", h.Vertices, len(h.Parts))
	}
	body := 16 + size
	var raw bytes.Buffer // grows with what is really there
	if k, err := io.Copy(&raw, io.LimitReader(in, 2*h.Vertices)); err != nil || k < 2*h.Vertices {
		return bad(body+k, "file ends inside the parts of %d vertices", h.Vertices)
	}
	want := sum.Sum(nil)
	got, err := io.ReadAll(io.LimitReader(r, sha256.Size+1))
	if err != nil || !bytes.Equal(got, want) {
		return bad(body+2*h.Vertices, "checksum does not fit the content")
	}
	p := &Plan{
		Key: h.Key, Method: h.Method, Seed: h.Seed, Targets: h.Targets, Part: make([]int32, h.Vertices), Parts: h.Parts,
		EdgeCut: h.EdgeCut, Volume: h.Volume, Balance: h.Balance,
	}
	for v := range p.Part {
		p.Part[v] = int32(binary.LittleEndian.Uint16(raw.Bytes()[2*v:]))
		if int(p.Part[v]) >= len(p.Parts) {
			return bad(body+2*int64(v), "vertex %d is in part %d of %d", v, p.Part[v], len(p.Parts))
		}
	}
	if err := p.validate(); err != nil {
		return bad(16, "header: %v", err)
	}
	return p, nil
}

// validate checks what can be checked without the graph.
func (p *Plan) validate() error {
	if raw, err := hex.DecodeString(p.Key); err != nil || len(raw) != sha256.Size {
		return errors.New("key is not a SHA-256 in hex")
	}
	if p.Method != Streaming && p.Method != Random {
		return fmt.Errorf("partitioner %q is not one of %v", p.Method, Methods)
	}
	if err := checkTargets(p.Targets, len(p.Parts)); err != nil {
		return err
	}
	inner := make([]int64, len(p.Parts))
	for _, q := range p.Part {
		inner[q]++
	}
	for i, s := range p.Parts {
		if s.Inner != inner[i] {
			return fmt.Errorf("part %d says %d inner vertices and holds %d", i, s.Inner, inner[i])
		}
		if s.Cut < 0 || s.Edges < s.Cut || s.Halo < 0 || s.Halo > s.Cut || s.Train < 0 || s.Train > s.Inner {
			return fmt.Errorf("part %d has impossible counts", i)
		}
	}
	b := p.Balance
	if p.EdgeCut < 0 || p.Volume < 0 || !(b.Vertices >= 0 && b.Edges >= 0 && b.Train >= 0) {
		return errors.New("negative cut, volume or balance")
	}
	return nil
}
