package rapa

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"capgnn/graph"
	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
)

// A plan file is, in this order (numbers little-endian):
//
//	8 bytes   "CAPGPLAN"
//	uint32    version of the format
//	uint32    bytes of the header, at most maxHeader
//	header    JSON: everything of a Plan but Part, Dropped and Seconds, the number of vertices, how many vertices each
//	          part drops and in how many bytes they are written
//	uint16×n  part of every vertex
//	uvarints  for each part, for each vertex it drops, ascending: its id less the one before it, less one (the first: its id)
//	32 bytes  SHA-256 of everything before
const (
	planMagic          = "CAPGPLAN"
	planVersion uint32 = 2
	maxHeader          = 1 << 26
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
	Key          string      `json:"key"`
	Graph        string      `json:"graph,omitempty"`
	Method       Method      `json:"method"`
	Seed         uint64      `json:"seed"`
	Targets      []float64   `json:"targets"`
	Vertices     int64       `json:"vertices"`
	Parts        []Stats     `json:"parts"`
	EdgeCut      int64       `json:"edge_cut"`
	Volume       int64       `json:"volume"`
	Balance      Balance     `json:"balance"`
	Devices      []string    `json:"devices,omitempty"`
	DeviceOf     []int       `json:"device_of,omitempty"`
	Costs        []PartCost  `json:"costs,omitempty"`
	Moved        int64       `json:"moved,omitempty"`
	Score        PruneScore  `json:"score,omitempty"`
	Trace        []Iteration `json:"trace,omitempty"`
	Stop         Stop        `json:"stop,omitempty"`
	Lost         Lost        `json:"lost"`
	Dropped      []int64     `json:"dropped,omitempty"` // by part: how many vertices
	DroppedBytes int64       `json:"dropped_bytes,omitempty"`
}

// headerOf returns what p's header says, but for the dropped vertices.
func headerOf(p *Plan) header {
	return header{
		Key: p.Key, Graph: p.Graph, Method: p.Method, Seed: p.Seed, Targets: p.Targets, Vertices: int64(len(p.Part)), Parts: p.Parts,
		EdgeCut: p.EdgeCut, Volume: p.Volume, Balance: p.Balance, Devices: p.Devices, DeviceOf: p.DeviceOf, Costs: p.Costs,
		Moved: p.Moved, Score: p.Score, Trace: p.Trace, Stop: p.Stop, Lost: p.Lost,
	}
}

// plan returns the plan that a header describes, without parts and dropped vertices. Empty lists become nil.
func (h header) plan() *Plan {
	h.Lost.PerPart, h.Lost.Replicas = orNil(h.Lost.PerPart), orNil(h.Lost.Replicas)
	return &Plan{
		Key: h.Key, Graph: h.Graph, Method: h.Method, Seed: h.Seed, Targets: h.Targets, Parts: h.Parts, EdgeCut: h.EdgeCut, Volume: h.Volume,
		Balance: h.Balance, Devices: orNil(h.Devices), DeviceOf: orNil(h.DeviceOf), Costs: orNil(h.Costs), Moved: h.Moved,
		Score: h.Score, Trace: orNil(h.Trace), Stop: h.Stop, Lost: h.Lost,
	}
}

func orNil[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}

// WritePlan writes p to a file, whole or not at all. Equal plans give equal bytes.
func WritePlan(path string, p *Plan) error {
	return atomicfile.Write(path, func(w io.Writer) error { return encodePlan(w, p) })
}

func encodePlan(w io.Writer, p *Plan) error {
	h := headerOf(p)
	var lists []byte
	for _, list := range p.Dropped {
		h.Dropped = append(h.Dropped, int64(len(list)))
		lists = appendAscending(lists, list)
	}
	h.DroppedBytes = int64(len(lists))
	head, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	if len(head) > maxHeader {
		return fmt.Errorf("write plan: header of %d bytes is longer than %d", len(head), maxHeader)
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
	out.Write(lists)
	if err := out.Flush(); err != nil {
		return err
	}
	_, err = w.Write(sum.Sum(nil))
	return err
}

// appendAscending writes ascending ids as differences.
func appendAscending(b []byte, ids []graph.NodeID) []byte {
	before := graph.NodeID(-1)
	for _, v := range ids {
		b = binary.AppendUvarint(b, uint64(v-before-1))
		before = v
	}
	return b
}

// MarshalBinary returns the bytes of p's file.
func (p *Plan) MarshalBinary() ([]byte, error) {
	var b bytes.Buffer
	err := encodePlan(&b, p)
	return b.Bytes(), err
}

// UnmarshalBinary reads the bytes of a plan's file, as ReadPlan does.
func (p *Plan) UnmarshalBinary(data []byte) error {
	got, err := decodePlan(bytes.NewReader(data), "from memory")
	if err == nil {
		*p = *got
	}
	return err
}

// ReadPlan reads a plan file. A file that is not a sound plan gives a *FormatError; memory in use stays within a small
// multiple of the file's size. Whether the plan belongs to a graph is for the caller to see by Key.
func ReadPlan(path string) (*Plan, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	defer f.Close()
	return decodePlan(f, path)
}

// planReader reads a plan file from its beginning.
type planReader struct {
	from io.Reader
	name string
	at   int64 // bytes read
}

func (r *planReader) fault(at int64, format string, a ...any) error {
	return &FormatError{r.name, at, fmt.Sprintf(format, a...)}
}

// take reads n bytes; the buffer grows with what is really there.
func (r *planReader) take(n int64, what string) ([]byte, error) {
	var b bytes.Buffer
	k, err := io.Copy(&b, io.LimitReader(r.from, n))
	r.at += k
	if err != nil || k < n {
		return nil, r.fault(r.at, "file ends inside %s", what)
	}
	return b.Bytes(), nil
}

func decodePlan(in io.Reader, name string) (*Plan, error) {
	sum := sha256.New()
	r := &planReader{from: io.TeeReader(in, sum), name: name}
	h, err := r.header()
	if err != nil {
		return nil, err
	}
	body := r.at
	p := h.plan()
	if p.Part, err = r.parts(h); err != nil {
		return nil, err
	}
	if p.Dropped, err = r.dropped(h); err != nil {
		return nil, err
	}
	want := sum.Sum(nil)
	end := r.at
	if got, err := io.ReadAll(io.LimitReader(in, sha256.Size+1)); err != nil || !bytes.Equal(got, want) {
		return nil, r.fault(end, "checksum does not fit the content")
	}
	for v, q := range p.Part {
		if int(q) >= len(p.Parts) {
			return nil, r.fault(body+2*int64(v), "vertex %d is in part %d of %d", v, q, len(p.Parts))
		}
	}
	if err := p.validate(); err != nil {
		return nil, r.fault(16, "header: %v", err)
	}
	return p, nil
}

func (r *planReader) header() (h header, err error) {
	fixed, err := r.take(16, "the beginning")
	if err != nil || string(fixed[:8]) != planMagic {
		return h, r.fault(0, "not a plan of capgnn")
	}
	if v := binary.LittleEndian.Uint32(fixed[8:]); v != planVersion {
		return h, r.fault(8, "version %d, this program reads version %d", v, planVersion)
	}
	size := int64(binary.LittleEndian.Uint32(fixed[12:]))
	if size > maxHeader {
		return h, r.fault(12, "header of %d bytes is longer than %d", size, maxHeader)
	}
	head, err := r.take(size, "the header")
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(head, &h); err != nil {
		return h, r.fault(16, "header: %v", err)
	}
	if h.Vertices < 1 || h.Vertices > 1<<31-1 || len(h.Parts) < 1 || len(h.Parts) > maxParts {
		return h, r.fault(16, "header: %d vertices in %d parts", h.Vertices, len(h.Parts))
	}
	if h.DroppedBytes < 0 || len(h.Dropped) != 0 && len(h.Dropped) != len(h.Parts) || len(h.Dropped) == 0 && h.DroppedBytes > 0 {
		return h, r.fault(16, "header: %d bytes of dropped vertices for %d parts", h.DroppedBytes, len(h.Dropped))
	}
	return h, nil
}

func (r *planReader) parts(h header) ([]int32, error) {
	raw, err := r.take(2*h.Vertices, fmt.Sprintf("the parts of %d vertices", h.Vertices))
	if err != nil {
		return nil, err
	}
	part := make([]int32, h.Vertices)
	for v := range part {
		part[v] = int32(binary.LittleEndian.Uint16(raw[2*v:]))
	}
	return part, nil
}

func (r *planReader) dropped(h header) ([][]graph.NodeID, error) {
	if len(h.Dropped) == 0 {
		return nil, nil
	}
	at := r.at
	raw, err := r.take(h.DroppedBytes, "the dropped vertices")
	if err != nil {
		return nil, err
	}
	lists := make([][]graph.NodeID, len(h.Dropped))
	for i, count := range h.Dropped {
		if count < 0 || count > int64(len(raw)) {
			return nil, r.fault(at, "part %d drops %d vertices in %d bytes", i, count, len(raw))
		}
		before := int64(-1)
		for range count {
			d, k := binary.Uvarint(raw)
			if k <= 0 || d >= uint64(h.Vertices) || before+1+int64(d) >= h.Vertices {
				return nil, r.fault(at, "part %d drops no vertex of %d", i, h.Vertices)
			}
			before += 1 + int64(d)
			lists[i] = append(lists[i], graph.NodeID(before))
			raw, at = raw[k:], at+int64(k)
		}
	}
	if len(raw) > 0 {
		return nil, r.fault(at, "%d bytes after the dropped vertices", len(raw))
	}
	return lists, nil
}
