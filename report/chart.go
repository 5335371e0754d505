package report

import (
	"capgnn/internal/axis"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Size of a chart in units of its own, and its margins. At 400 units of width its text has about the size of the page's.
const (
	chartWidth, chartHeight                         = 420, 230
	marginLeft, marginRight, marginTop, marginBelow = 58, 12, 10, 34
)

// maxPoints bounds the points of a curve; of more epochs, some are drawn (thin).
const maxPoints = 600

// largest is the largest number that is drawn; beyond it a value counts as not there.
const largest = 1e30

// chart is one picture: curves over one axis.
type chart struct {
	ID, Title, Note string
	XName           string
	X, Y            axis.Axis
	Curves          []curve
	Marks           []mark
	Flat            bool // every curve has one value, which the legend says: there is nothing to draw
	Smooth          bool // the page offers to smooth the curves
	Data            chartData
}

// curve is one line or area of a chart, and its entry in the legend.
type curve struct {
	Name   string
	Text   string // what the legend says of it: its last number
	Colour int    // of the style sheet
	Dash   bool
	Area   bool
	Band   bool   // an area that lets what is below it through
	Path   string // SVG path
}

// mark is a point that stands out, with what the page says when it is pointed at.
type mark struct {
	X, Y   float64
	Colour int
	Text   string
}

// chartData is what the script needs to show numbers: curves as they are in the files, and where x lies.
type chartData struct {
	Lo      float64     `json:"lo"`
	Hi      float64     `json:"hi"`
	From    float64     `json:"from"`
	To      float64     `json:"to"`
	XName   string      `json:"xname"`
	XKind   quantity    `json:"xkind"`
	Kind    quantity    `json:"kind"`
	YLo     float64     `json:"ylo"`
	YHi     float64     `json:"yhi"`
	YFrom   float64     `json:"yfrom"`
	YTo     float64     `json:"yto"`
	Log     bool        `json:"log"`
	Stacked bool        `json:"stacked"`
	Ticks   []axis.Tick `json:"ticks"` // of the vertical axis
	Other   *scale      `json:"other"` // that the page offers in place of the one drawn; null: none
	Series  []points    `json:"series"`
}

// scale is a vertical axis as the script wants it.
type scale struct {
	Lo    float64     `json:"lo"`
	Hi    float64     `json:"hi"`
	Log   bool        `json:"log"`
	Ticks []axis.Tick `json:"ticks"`
}

// points are the numbers of one curve. Y is NaN where there is none.
type points struct {
	Name string    `json:"name"`
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
}

// add appends a point unless it is no number.
func (p *points) add(x, y float64) {
	if !math.IsNaN(y) && math.Abs(y) <= largest && math.Abs(x) <= largest {
		p.X, p.Y = append(p.X, x), append(p.Y, y)
	}
}

// last returns the last number, NaN where there is none.
func (p points) last() float64 {
	if len(p.Y) == 0 {
		return math.NaN()
	}
	return p.Y[len(p.Y)-1]
}

// thin returns p, or, where it has more than maxPoints, the least and the largest of each stretch and both ends, so that no peak
// is lost.
func (p points) thin() points {
	n := len(p.X)
	if n <= maxPoints {
		return p
	}
	out := points{Name: p.Name}
	keep := func(i int) {
		if len(out.X) == 0 || p.X[i] != out.X[len(out.X)-1] {
			out.add(p.X[i], p.Y[i])
		}
	}
	stretches := maxPoints/2 - 1
	keep(0)
	for s := range stretches {
		lo, hi := s*n/stretches, (s+1)*n/stretches
		least, most := lo, lo
		for i := lo; i < hi; i++ {
			if p.Y[i] < p.Y[least] {
				least = i
			}
			if p.Y[i] > p.Y[most] {
				most = i
			}
		}
		keep(min(least, most))
		keep(max(least, most))
	}
	keep(n - 1)
	return out
}

// drawing says how a chart is made of its numbers.
type drawing struct {
	id, title, note string
	xName           string
	xKind, kind     quantity
	zero            bool                 // the axis begins at 0
	log             bool                 // a logarithmic axis where the numbers span more than two powers of ten
	stacked         bool                 // areas upon each other
	smooth          bool                 // the page offers to smooth, and the other scale where all numbers are above 0
	summary         func(points) float64 // number of the legend; nil: the last one
	colours         []int                // of the series; nil: in order
}

// draw returns the chart of the series that have numbers, nil if none has.
func (d drawing) draw(series ...points) *chart {
	var kept []points
	var colours []int
	for i, p := range series {
		if len(p.X) == 0 {
			continue
		}
		colour := len(kept)
		if d.colours != nil {
			colour = d.colours[i]
		}
		if !d.stacked {
			p = p.thin()
		}
		kept, colours = append(kept, p), append(colours, colour)
	}
	if len(kept) == 0 {
		return nil
	}
	if d.stacked {
		kept = merge(kept)
	}
	c := &chart{ID: d.id, Title: d.title, Note: d.note, XName: d.xName}
	var other *scale
	c.X, c.Y, other = d.axes(kept)
	c.Flat, c.Smooth = flat(kept), d.smooth
	if c.Flat {
		c.Note = flatNote(c.Note, kept)
	}
	base := make([]float64, len(kept[0].X))
	for i, p := range kept {
		line := curve{Name: p.Name, Colour: colours[i] % colourCount, Dash: colours[i] >= colourCount, Area: d.stacked}
		if d.stacked {
			line.Path = area(c.X, c.Y, p, base)
		} else {
			line.Path = path(c.X, c.Y, p)
		}
		x := p.last()
		if d.summary != nil {
			x = d.summary(p)
		}
		line.Text = written(d.kind, x)
		c.Curves = append(c.Curves, line)
	}
	c.Data = chartData{Lo: c.X.Lo, Hi: c.X.Hi, From: c.X.From, To: c.X.To, XName: d.xName, XKind: d.xKind, Kind: d.kind,
		YLo: c.Y.Lo, YHi: c.Y.Hi, YFrom: c.Y.From, YTo: c.Y.To, Log: c.Y.Log, Stacked: d.stacked, Ticks: c.Y.Ticks, Other: other, Series: kept}
	return c
}

// band draws a mean with what deviates from it on both sides, at the same x.
func (d drawing) band(mean, deviation points) *chart {
	mean, deviation = mean.means(), deviation.means()
	low, high := points{X: mean.X}, points{X: mean.X}
	for i, y := range mean.Y {
		low.Y, high.Y = append(low.Y, y-deviation.Y[i]), append(high.Y, y+deviation.Y[i])
	}
	c := d.draw(mean, low, high)
	if c == nil {
		return nil
	}
	shade := curve{Name: deviation.Name, Text: written(d.kind, deviation.last()), Band: true, Path: path(c.X, c.Y, high)}
	for i := range slices.Backward(low.X) {
		shade.Path += fmt.Sprintf("L%.2f %.2f", c.X.Place(low.X[i]), c.Y.Place(low.Y[i]))
	}
	shade.Path += "Z"
	c.Curves, c.Data.Series = []curve{c.Curves[0], shade}, []points{mean, deviation}
	return c
}

// flat reports whether no series changes.
func flat(series []points) bool {
	for _, p := range series {
		for _, y := range p.Y {
			if math.Abs(y-p.Y[0]) > 1e-9*math.Abs(p.Y[0]) {
				return false
			}
		}
	}
	return true
}

// flatNote says when the numbers of a flat chart hold.
func flatNote(note string, series []points) string {
	when := "the same all the time"
	if len(series[0].X) == 1 {
		when = "one value"
	}
	if note == "" {
		return when
	}
	return when + "; " + note
}

// axes returns the axes that hold all series, and the other scale that the page offers.
func (d drawing) axes(series []points) (x, y axis.Axis, other *scale) {
	xlo, xhi := math.Inf(1), math.Inf(-1)
	ylo, yhi := math.Inf(1), math.Inf(-1)
	sums := map[float64]float64{}
	for _, p := range series {
		for i := range p.X {
			v := p.Y[i]
			if d.stacked {
				sums[p.X[i]] += v
				v = sums[p.X[i]]
			}
			xlo, xhi = min(xlo, p.X[i]), max(xhi, p.X[i])
			ylo, yhi = min(ylo, v), max(yhi, v)
		}
	}
	x = axis.Linear(xlo, xhi, d.xKind, 6, false)
	switch {
	case d.log && ylo > 1/largest && yhi/ylo > 100:
		y, other = axis.Log(ylo, yhi, d.kind), offered(axis.Linear(0, yhi, d.kind, 4, true))
	case d.zero || d.stacked:
		y = axis.Linear(min(0, ylo), max(yhi, 1e-9), d.kind, 4, true)
	default:
		y = axis.Linear(ylo, yhi, d.kind, 4, true)
	}
	if d.smooth && !y.Log && ylo > 1/largest && d.kind != score {
		other = offered(axis.Log(ylo, yhi, d.kind))
	}
	return x.Between(marginLeft, chartWidth-marginRight), y.Between(chartHeight-marginBelow, marginTop), other
}

// offered returns an axis as the page offers it.
func offered(a axis.Axis) *scale {
	a = a.Between(chartHeight-marginBelow, marginTop)
	return &scale{Lo: a.Lo, Hi: a.Hi, Log: a.Log, Ticks: a.Ticks}
}

// path returns the line through the points; a single point is a dot.
func path(x, y axis.Axis, p points) string {
	var b strings.Builder
	for i := range p.X {
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		fmt.Fprintf(&b, "%s%.2f %.2f", verb, x.Place(p.X[i]), y.Place(p.Y[i]))
	}
	if len(p.X) == 1 {
		b.WriteString("h.01")
	}
	return b.String()
}

// area returns the outline of what p adds to base, which it then adds.
func area(x, y axis.Axis, p points, base []float64) string {
	var b strings.Builder
	for i := range p.X {
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		fmt.Fprintf(&b, "%s%.2f %.2f", verb, x.Place(p.X[i]), y.Place(base[i]+p.Y[i]))
	}
	for i := len(p.X) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "L%.2f %.2f", x.Place(p.X[i]), y.Place(base[i]))
		base[i] += p.Y[i]
	}
	return b.String() + "Z"
}

// merge gives stacked series one list of x: every x of any of them, with 0 where a series has none. Of more than maxPoints, means of
// stretches take their place.
func merge(series []points) []points {
	at := map[float64]int{}
	var xs []float64
	for _, p := range series {
		for _, x := range p.X {
			if _, seen := at[x]; !seen {
				at[x] = 0
				xs = append(xs, x)
			}
		}
	}
	slices.Sort(xs)
	for i, x := range xs {
		at[x] = i
	}
	out := make([]points, len(series))
	for s, p := range series {
		y := make([]float64, len(xs))
		for i, x := range p.X {
			y[at[x]] = p.Y[i]
		}
		out[s] = points{Name: p.Name, X: xs, Y: y}.means()
	}
	return out
}

// means returns p, or, where it has more than maxPoints, the mean of each stretch at its first x.
func (p points) means() points {
	n := len(p.X)
	if n <= maxPoints {
		return p
	}
	out := points{Name: p.Name}
	for s := range maxPoints {
		lo, hi := s*n/maxPoints, (s+1)*n/maxPoints
		sum := 0.0
		for _, y := range p.Y[lo:hi] {
			sum += y
		}
		out.add(p.X[lo], sum/float64(hi-lo))
	}
	return out
}
