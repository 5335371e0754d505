package sim

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"capgnn/gpu"
)

// Sample is the measured time of one operation of one size: see profiler.OpTime, whose fields it has.
type Sample struct {
	Op                           string
	Rows, In, Out, Cols, Entries int
	Bytes                        int
	Seconds                      float64
}

// Table says what operations take by what they were measured to take, near their size. It fits devices with caches, whose
// rates depend on how much an operation touches, and how soon again.
type Table struct {
	start, wake float64          // seconds of a launch, of a hop
	passes      map[kernel]curve // seconds per byte by bytes
	products    map[kernel]*grid // dense
	sums        []sums           // by width
	copies      map[route]*copying
	crowd       map[kernel]curve // over bytes: how much longer work takes while all others compute that have processors at the same time
}

// copying is a way between host and device.
type copying struct {
	latency float64
	held    curve // seconds beside it by bytes
}

// perElement is the bytes that an operation of a sample reads and writes per element, as the queue counts them.
var perElement = map[string]struct {
	kernel kernel
	bytes  float64
}{"copy": {stream, 8}, "fill": {fills, 4}, "axpby": {axpby, 12}, "colsum": {colSum, 4}, "gather": {gatherRows, 8}, "epilogue": {epilogue, 12},
	"epilogue_back": {epilogueBackward, 16}, "softmax": {softmax, 8}, "bce": {bce, 8}, "adam": {adam, 28}}

var (
	perProduct = map[string]kernel{"nn": gemmNN, "nt": gemmNT, "tn": gemmTN}
	perRoute   = map[string]route{"upload": toDevice, "download": fromDevice, "peer": betweenDevices}
)

// NewTable makes a table of measurements. The error says which are missing or impossible. Operations that are not in
// samples (of GAT) take what others of their kind take.
func NewTable(samples []Sample) (*Table, error) {
	t := &Table{passes: map[kernel]curve{}, products: map[kernel]*grid{}, copies: map[route]*copying{}}
	for i, s := range samples {
		if err := s.validate(); err != nil {
			return nil, fmt.Errorf("measurement %d, %w", i, err)
		}
		switch s.Op {
		case "launch":
			t.start = s.Seconds
		case "hop":
			t.wake = s.Seconds / 2 // there and back
		}
	}
	for _, s := range samples {
		t.add(s)
	}
	return t, t.finish()
}

// Beside returns a table for a device that computes beside others on the same host: samples are what operations take while
// as many of them as have processors at the same time do the same. They are set against the table's own times, so it does not matter if the host was busy
// with something else when these were measured.
func (t *Table) Beside(samples []Sample) (*Table, error) {
	u := *t
	u.crowd = map[kernel]curve{}
	for i, s := range samples {
		if err := s.validate(); err != nil {
			return nil, fmt.Errorf("measurement %d beside others: %w", i, err)
		}
		p, ok := s.part()
		if !ok {
			continue
		}
		c := point{p.touched(), s.Seconds / (t.start + t.seconds(&p))}
		u.crowd[p.kernel] = append(u.crowd[p.kernel], c)
	}
	for _, c := range u.crowd {
		c.sorted()
	}
	return &u, nil
}

// part is what a sample has measured.
func (s *Sample) part() (part, bool) {
	if k, ok := perProduct[s.Op]; ok {
		return part{kernel: k, rows: s.Rows, in: s.In, out: s.Out, bytes: 4 * gpu.Bytes(s.Rows) * gpu.Bytes(s.In+s.Out)}, true
	}
	if p, ok := perElement[s.Op]; ok {
		return part{kernel: p.kernel, bytes: gpu.Bytes(p.bytes) * gpu.Bytes(s.Rows) * gpu.Bytes(s.Out)}, true
	}
	return part{kernel: gather, rows: s.Rows, out: s.Out, entries: int64(s.Entries), cols: s.Cols, size: 4, stride: 4 * s.Out}, s.Op == "sum"
}

// touched is the bytes by which what others do to the caches matters.
func (p *part) touched() float64 {
	if p.entries > 0 {
		return float64(p.cols) * float64(p.out) * float64(p.size)
	}
	return float64(p.bytes)
}

// crowded implements costs. What was not measured is a pass over memory.
func (t *Table) crowded(p *part) float64 {
	k := p.kernel
	switch k {
	case fusedEpilogue:
		k = epilogue
	case gatForward, gatByDst, gatBySrc, gatv2Forward, gatv2ByDst, gatv2BySrc:
		k = gather
	}
	for _, k := range []kernel{k, stream} {
		if c := t.crowd[k]; len(c) > 0 {
			return c.log(p.touched())
		}
	}
	return 1
}

func (s *Sample) validate() error {
	if !(s.Seconds > 0 && s.Seconds < 1e6) || min(s.Rows, s.In, s.Out, s.Cols, s.Entries, s.Bytes) < 0 {
		return fmt.Errorf("%s: sizes or %g s are impossible", s.Op, s.Seconds)
	}
	return nil
}

// work is a sample's time without the launch; half of it at least, so that noise leaves something.
func (t *Table) work(s Sample) float64 { return max(s.Seconds-t.start, s.Seconds/2) }

func (t *Table) add(s Sample) {
	if p, ok := perElement[s.Op]; ok {
		bytes := p.bytes * float64(s.Rows) * float64(s.Out)
		t.passes[p.kernel] = append(t.passes[p.kernel], point{bytes, t.work(s) / bytes})
	}
	if k, ok := perProduct[s.Op]; ok {
		if t.products[k] == nil {
			t.products[k] = &grid{}
		}
		t.products[k].add(s.In, s.Out, point{4 * float64(s.Rows) * float64(s.In+s.Out), t.work(s) / float64(s.Rows)})
	}
	if way, ok := perRoute[s.Op]; ok {
		if t.copies[way] == nil {
			t.copies[way] = &copying{}
		}
		c := t.copies[way]
		c.held = append(c.held, point{float64(s.Bytes), s.Seconds})
	}
	if s.Op == "sum" || s.Op == "scaled" {
		t.addSum(s)
	}
}

// finish sorts, and reports what is missing.
func (t *Table) finish() error {
	var errs []error
	for _, op := range slices.Sorted(maps.Keys(perElement)) {
		c := t.passes[perElement[op].kernel]
		if c.sorted(); len(c) == 0 {
			errs = append(errs, fmt.Errorf("no measurement of %s", op))
		}
	}
	for _, op := range slices.Sorted(maps.Keys(perProduct)) {
		if g := t.products[perProduct[op]]; g == nil || !g.finish() {
			errs = append(errs, fmt.Errorf("no full grid of measurements of %s", op))
		}
	}
	for _, op := range slices.Sorted(maps.Keys(perRoute)) {
		c := t.copies[perRoute[op]]
		if c == nil && op == "peer" {
			continue
		}
		if c == nil || len(c.held) < 2 {
			errs = append(errs, fmt.Errorf("less than two measurements of %s", op))
			continue
		}
		c.held.sorted()
		c.latency = c.held[0].y
		for i := range c.held {
			c.held[i].y = max(0, c.held[i].y-c.latency)
		}
	}
	errs = append(errs, t.finishSums())
	return errors.Join(errs...)
}

// seconds implements costs.
func (t *Table) seconds(p *part) float64 {
	switch p.kernel {
	case gemmNN, gemmNT, gemmTN:
		return t.products[p.kernel].at(float64(p.in), float64(p.out), float64(p.rows), p.apart(p.bytes))
	case gather, gatForward, gatByDst, gatBySrc, gatv2Forward, gatv2ByDst, gatv2BySrc:
		return t.gather(p)
	}
	if p.kernel == fusedEpilogue { // arithmetic decides: it takes as long in the cache as out of it
		return float64(p.bytes) * t.passes[epilogue][0].y
	}
	return float64(p.bytes) * t.passes[p.kernel].log(p.apart(max(p.bytes, p.spread)))
}

func (t *Table) launch() float64 { return t.start }
func (t *Table) hop() float64    { return t.wake }

// emulated implements costs: what takes much longer than a copy in memory is a link that is waited for.
func (t *Table) emulated() bool {
	c := t.copies[toDevice].held
	most := c[len(c)-1]
	return most.y > 2*2*most.x*t.passes[stream].log(2*most.x)
}

// What a goroutine of a queue takes of a processor beside its operations, in seconds. Measured on Linux with 16 devices on 2 processors
// (docs/bench/simulation.md).
const (
	waiting  = 2.5e-6 // to wait for an event of another queue, and that queue to fire it
	sleeping = 7e-6   // to set a timer, to sleep until a copy over an emulated link is due, and to be woken
)

func (t *Table) goroutine() (waits, sleeps float64) { return waiting, sleeping }

// transfer implements costs.
func (t *Table) transfer(way route, n gpu.Bytes) (held, latency float64) {
	c := t.copies[way]
	if c == nil { // no peer access: the device's half of it
		c = t.copies[toDevice]
	}
	return max(0, c.held.line(float64(n))), c.latency
}

// near implements costs: each byte is read and written.
func (t *Table) near(n gpu.Bytes) float64 {
	return float64(2*n) * t.passes[stream].log(float64(2*n))
}

// copying implements costs. What another device has written is not in the caches of the processor that copies it: it takes as long as of the largest
// matrices.
func (t *Table) copying(n gpu.Bytes) float64 {
	c := t.passes[stream]
	return float64(2*n) * c[len(c)-1].y
}

// grid is the seconds of products by both widths: per row by the bytes of the operands, beside what a product takes whatever its rows.
type grid struct {
	in, out []float64 // ascending
	cells   map[[2]float64]curve
	once    map[[2]float64]float64 // packing the weight, and bringing it to the caches
}

func (g *grid) add(in, out int, p point) {
	if g.cells == nil {
		g.cells = map[[2]float64]curve{}
	}
	key := [2]float64{float64(in), float64(out)}
	g.cells[key] = append(g.cells[key], p)
}

// finish reports whether every width was measured with every other.
func (g *grid) finish() bool {
	g.once = map[[2]float64]float64{}
	for key, c := range g.cells {
		c.sorted()
		g.once[key] = c.apart(4 * (key[0] + key[1]))
		g.in, g.out = append(g.in, key[0]), append(g.out, key[1])
	}
	slices.Sort(g.in)
	slices.Sort(g.out)
	g.in, g.out = slices.Compact(g.in), slices.Compact(g.out)
	return len(g.in) > 1 && len(g.out) > 1 && len(g.cells) == len(g.in)*len(g.out)
}

// apart takes what a product takes whatever its rows, of so many bytes each, from the seconds per row, and returns it: what is left at no rows on the straight
// line through the two least numbers of them. Where rows of larger operands take longer that is too little, and nothing where one size was measured.
func (c curve) apart(row float64) float64 {
	if len(c) < 2 {
		return 0
	}
	few, more := c[0].x/row, c[1].x/row
	least := few * c[0].y
	once := min(max(0, least-few*(more*c[1].y-least)/(more-few)), least/2)
	for i := range c {
		c[i].y -= once * row / c[i].x
	}
	return once
}

// vector is the columns that products are made of: a cache line of float32.
const vector = 16

// at returns the seconds of a product of so many rows, on straight lines over both widths, which is exact for costs of the form a + b·in + c·out +
// d·in·out.
func (g *grid) at(in, out, rows, bytes float64) float64 {
	in, out = max(in, g.in[0]), max(vector*math.Ceil(out/vector), g.out[0])
	byIn := make(curve, len(g.in))
	for i, x := range g.in {
		byOut := make(curve, len(g.out))
		for j, y := range g.out {
			key := [2]float64{x, y}
			byOut[j] = point{y, g.once[key] + rows*g.cells[key].log(bytes)}
		}
		byIn[i] = point{x, byOut.line(out)}
	}
	return byIn.line(in)
}
