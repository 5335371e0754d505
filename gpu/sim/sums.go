package sim

import (
	"cmp"
	"errors"
	"slices"
)

// sums is what it takes to add up gathered rows of one width.
type sums struct {
	width float64
	entry curve   // seconds per entry by the bytes of the matrix that rows are gathered from at random
	row   float64 // seconds per sum beside its entries
	lone  []Sample
	// scaled is how much longer entries take with a factor for each row that is gathered.
	scaled  float64
	factors *Sample // the measurement of it
	// reach[i] is the seconds per entry whose row was used with at most entry[i].x bytes of others in between, and more than
	// entry[i-1].x.
	reach []float64
}

// few is the entries per sum up to which a sample is one of sums, not of entries.
const few = 4

func (t *Table) addSum(s Sample) {
	i := slices.IndexFunc(t.sums, func(x sums) bool { return x.width == float64(s.Out) })
	if i < 0 {
		i = len(t.sums)
		t.sums = append(t.sums, sums{width: float64(s.Out)})
	}
	if s.Op == "scaled" {
		t.sums[i].factors = &s
		return
	}
	if s.Rows > 0 && s.Entries <= few*s.Rows {
		t.sums[i].lone = append(t.sums[i].lone, s)
		return
	}
	bytes := 4 * float64(s.Cols) * float64(s.Out)
	t.sums[i].entry = append(t.sums[i].entry, point{bytes, t.work(s) / float64(max(s.Entries, 1))})
}

func (t *Table) finishSums() error {
	slices.SortFunc(t.sums, func(a, b sums) int { return cmp.Compare(a.width, b.width) })
	if len(t.sums) < 2 {
		return errors.New("sums of less than two widths were measured")
	}
	for i := range t.sums {
		s := &t.sums[i]
		if len(s.entry) == 0 {
			return errors.New("sums without measurements of entries")
		}
		s.entry.sorted()
		for _, l := range s.lone {
			s.row = max(0, (t.work(l)-float64(l.Entries)*s.entry[0].y)/float64(l.Rows))
		}
		s.scaled = 1
		if f := s.factors; f != nil {
			plain := s.entry.log(4 * float64(f.Cols) * float64(f.Out))
			s.scaled = max(1, t.work(*f)/float64(max(f.Entries, 1))/plain)
		}
		s.finish()
	}
	return nil
}

// finish finds what uses at a distance take. Rows gathered at random from b bytes have been used with anything between
// nothing and b bytes of others in between, all distances being equally likely (each use takes a row to the top of the
// stack), so that the time per entry from b bytes is the mean of reach below b.
func (s *sums) finish() {
	before, least := point{}, 0.0
	for _, p := range s.entry {
		least = max(least, (p.x*p.y-before.x*before.y)/(p.x-before.x))
		s.reach = append(s.reach, least)
		before = p
	}
}

// seconds returns what the entries and sums of p take for this width; farther is the share of uses with more than some bytes
// of other rows in between.
func (s *sums) seconds(p *part, farther func(bytes float64) float64) float64 {
	one, left := 0.0, 1.0
	for i, at := range s.entry {
		f := farther(at.x)
		if i == len(s.entry)-1 {
			f = 0 // no farther than what was measured
		}
		one += max(0, left-f) * s.reach[i]
		left = min(left, f)
	}
	if p.scaled {
		one *= s.scaled
	}
	return float64(p.entries)*one + float64(p.rows)*s.row
}

// How devices of package gpu/host gather from matrices larger than their caches: a panel of so many bytes of each row at a
// time, copied to a matrix of its own, if entries near each other need more than a cache of rows and each row is used often
// enough. The same numbers stand there.
const (
	panelRow    = 256
	panelCached = 24 << 20
	panelBytes  = 64 << 20
	panelUses   = 32
	panelReach  = 32 << 20
)

// panel returns the bytes of a row that are gathered at a time.
func (p *part) panel() int {
	row := p.out * p.size
	if row < 2*panelRow || p.cols*panelRow > panelBytes || p.cols*row < panelReach || p.entries < panelUses*int64(p.cols) {
		return row
	}
	if p.reuse != nil && p.reuse.most()*float64(row) <= panelReach {
		return row
	}
	if p.cols*panelRow > panelCached && p.cols*panelRow/2 <= panelCached {
		return panelRow / 2
	}
	return panelRow
}

// gather is the time of sums over gathered rows.
func (t *Table) gather(p *part) float64 {
	row, panel := p.out*p.size, p.panel()
	if row == 0 { // there is no row to gather
		return float64(p.written) * t.passes[fills].log(float64(p.written))
	}
	s := t.gatherOf(p, panel) * float64(row) / float64(panel)
	if panel < row {
		copied := 2 * float64(p.cols) * float64(row)
		s += copied * t.passes[stream].log(copied)
	}
	if f, ok := attention[p.kernel]; ok {
		s *= f
	}
	return s + float64(p.written)*t.passes[fills].log(float64(p.written))
}

// within returns the share of uses with more than so many bytes of other rows between, if none but this product has the processor.
func (p *part) within(bytes, row float64) float64 {
	if p.reuse == nil { // as if at random
		return max(0, 1-bytes/(float64(p.cols)*row))
	}
	return p.reuse.farther(bytes/row, float64(p.cols))
}

// line is the bytes that memory moves at a time. Rows that were measured begin at one.
const line = 64

// gatherOf is the time of sums over so many bytes of each row, without what is written.
func (t *Table) gatherOf(p *part, row int) float64 {
	touched := float64((row + line - 1) / line * line)
	if p.stride%line != 0 { // rows begin anywhere, at a multiple of an element
		touched = float64(row + line - p.size)
	}
	all := float64(p.cols) * float64(row)
	farther := func(bytes float64) float64 {
		if bytes < all*p.turns && p.turns > 1 { // rows are used the first time since others had the processor
			return max(p.within(bytes, float64(row)), min(1, float64(p.cols)/float64(max(1, p.entries))))
		}
		return p.within(bytes, float64(row))
	}
	// Between measured widths on a straight line; outside, on that of the two nearest.
	byWidth := make(curve, len(t.sums))
	for i := range t.sums {
		byWidth[i] = point{4 * t.sums[i].width, t.sums[i].seconds(p, farther)}
	}
	return max(byWidth.line(max(touched, byWidth[0].x)), byWidth[0].y/2)
}
