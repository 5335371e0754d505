package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"capgnn/internal/axis"
	"capgnn/internal/number"
)

// Figure is panels in rows of up to Across; the legend stands below all of them, once for each name.
type Figure struct {
	Title  string
	Panels []Panel
	Across int // panels beside each other; 0 = up to four
}

// Panel is one diagram: lines over numbers, or bars over groups where Groups is given.
type Panel struct {
	Title, X, Y string
	Series      []Series
	Groups      []string // then Series[i].Y[g] is the bar of series i in group g
	LogX, LogY  bool
	Points      bool // no lines between the points
	Stacked     bool // bars of a group stand on each other
	FromZero    bool // the y axis begins at 0, as it always does with bars
	Counts      bool // x counts from 0: it begins there and is labelled at whole numbers
}

// Series is the points of one name. Points that are NaN are left out.
type Series struct {
	Name   string
	X, Y   []float64
	Err    []float64 // of Y, in both directions; nil: nothing is drawn of it
	Labels []string  // beside the points; nil: none
}

// Sizes, in pixels.
const (
	panelWidth, panelHeight = 360, 284 // of a panel, labels included
	marginTop, marginRight  = 30, 16   // beside the axes
	legendRow, legendLine   = 22, 42
	barWidth                = 19
	letterWidth             = 6.4 // about
)

// Write draws the figure to an SVG file.
func (f *Figure) Write(path string) error {
	text, err := f.svg()
	if err != nil {
		return err
	}
	return writeText(path, text)
}

// layout is where everything of a figure is. All panels have the same margins, so that their axes are in line.
type layout struct {
	names       []string
	across      int
	wide, high  float64 // of a panel
	left, below float64 // margins of its axes
	perRow      int     // entries of the legend in a row
}

func (f *Figure) layout() layout {
	l := layout{across: f.Across, wide: panelWidth, left: 40, below: 44}
	if l.across == 0 { // as few rows as four panels beside each other need, as full as they can be
		needed := max(1, (len(f.Panels)+3)/4)
		l.across = (len(f.Panels) + needed - 1) / needed
	}
	l.across = max(1, min(l.across, len(f.Panels)))
	longest := 0
	for _, p := range f.Panels {
		l.wide = max(l.wide, float64(barWidth*len(p.Groups)*(len(p.Series)+1)+76))
		for _, s := range p.Series {
			if !slices.Contains(l.names, s.Name) {
				l.names, longest = append(l.names, s.Name), max(longest, utf8.RuneCountInString(s.Name))
			}
		}
	}
	for _, p := range f.Panels {
		_, y := p.axes()
		l.left = max(l.left, 34+letterWidth*float64(longestOf(texts(y))))
		if p.turned(l.wide) {
			l.below = max(l.below, 34+0.71*letterWidth*float64(longestOf(p.Groups)))
			l.left = max(l.left, 0.71*letterWidth*float64(longestOf(p.Groups[:1]))-barWidth)
		}
	}
	l.high = panelHeight + l.below - 44
	l.perRow = max(1, int(l.wide*float64(l.across)/(letterWidth*float64(longest)+legendLine+30)))
	return l
}

func longestOf(texts []string) (n int) {
	for _, t := range texts {
		n = max(n, utf8.RuneCountInString(t))
	}
	return n
}

func texts(a axis.Axis) (out []string) {
	for _, t := range a.Ticks {
		out = append(out, t.Text)
	}
	return out
}

func (f *Figure) svg() (string, error) {
	l := f.layout()
	rows, legend := (len(f.Panels)+l.across-1)/l.across, 0.0
	if len(l.names) > 1 {
		legend = legendRow * float64((len(l.names)+l.perRow-1)/l.perRow)
	}
	width, height := l.wide*float64(l.across), l.high*float64(rows)+legend
	var d drawing
	d.begin(width, height+8)
	for i := range f.Panels {
		p := &f.Panels[i]
		if p.Y == "" || p.X == "" && p.Groups == nil {
			return "", fmt.Errorf("panel %q: %w", p.Title,
				errors.New("an axis does not say what it shows, and in which unit"))
		}
		p.draw(&d, l, l.wide*float64(i%l.across), l.high*float64(i/l.across))
	}
	if legend > 0 {
		d.legend(l, width, l.high*float64(rows), f.Panels[0].Groups != nil)
	}
	return d.end(), nil
}

// axes returns the axes that hold all that the panel shows; of bars the second one alone.
func (p *Panel) axes() (x, y axis.Axis) {
	xlo, xhi, ylo, yhi := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	if p.Groups != nil || p.FromZero && !p.LogY {
		ylo, yhi = 0, 0
	}
	for _, bar := range p.bars() {
		ylo, yhi = min(ylo, bar.from, bar.to), max(yhi, bar.from, bar.to)
	}
	for _, s := range p.Series {
		if p.Groups != nil {
			break
		}
		for s = p.visible(s); len(s.X) > 0; s.X, s.Y = s.X[1:], s.Y[1:] {
			spread := 0.0
			if s.Err != nil {
				spread, s.Err = s.Err[0], s.Err[1:]
			}
			xlo, xhi, ylo, yhi = min(xlo, s.X[0]), max(xhi, s.X[0]), min(ylo, p.lower(s.Y[0], spread)),
				max(yhi, s.Y[0]+spread)
		}
	}
	if xlo > xhi { // nothing can be drawn
		xlo, xhi = 1, 2
	}
	switch {
	case ylo > yhi:
		ylo, yhi = 1, 2
	case ylo == 0 && yhi == 0:
		yhi = 1
	}
	switch {
	case p.Counts:
		x = axis.Linear(0, max(1, xhi), number.Count, 6, false)
	case p.LogX:
		x = axis.Log(xlo, xhi, number.Plain)
	default:
		x = axis.Linear(xlo, xhi, number.Plain, 6, false)
	}
	switch {
	case p.LogY && p.Groups == nil:
		y = axis.Log(ylo, yhi, number.Plain)
	case p.Groups != nil || p.FromZero:
		y = axis.Linear(ylo, headroom(yhi), number.Plain, 6, true)
	default:
		y = axis.Linear(ylo, yhi, number.Plain, 5, true)
	}
	return x, y
}

// lower is the end of an error bar that a logarithmic axis may not reach.
func (p *Panel) lower(y, spread float64) float64 {
	if p.LogY && spread >= y {
		return y
	}
	return y - spread
}

// headroom is the end of an axis whose largest value shall not touch it.
func headroom(largest float64) float64 {
	if largest <= 0 {
		return largest
	}
	return 1.05 * largest
}

// visible returns the points of a series that can be drawn.
func (p *Panel) visible(s Series) Series {
	shown := Series{Name: s.Name}
	for i := range min(len(s.X), len(s.Y)) {
		x, y := s.X[i], s.Y[i]
		if math.IsNaN(x+y) || math.IsInf(x+y, 0) || p.LogX && x <= 0 || p.LogY && y <= 0 {
			continue
		}
		shown.X, shown.Y = append(shown.X, x), append(shown.Y, y)
		if s.Err != nil {
			shown.Err = append(shown.Err, s.Err[i])
		}
		if s.Labels != nil {
			shown.Labels = append(shown.Labels, s.Labels[i])
		}
	}
	return shown
}

// bar is a bar of a group: beside the others, or on the one before.
type bar struct {
	group, series int
	from, to      float64
}

func (p *Panel) bars() (out []bar) {
	for g := range p.Groups {
		base := 0.0
		for i, s := range p.Series {
			if g >= len(s.Y) || math.IsNaN(s.Y[g]) || math.IsInf(s.Y[g], 0) {
				continue
			}
			out = append(out, bar{g, i, base, base + s.Y[g]})
			if p.Stacked {
				base += s.Y[g]
			}
		}
	}
	return out
}

// turned reports whether the names of the groups are too long to stand beside each other.
func (p *Panel) turned(wide float64) bool {
	return letterWidth*float64((longestOf(p.Groups)+1)*len(p.Groups)) > wide-76
}

// draw draws the panel with its upper left corner at a place.
func (p *Panel) draw(d *drawing, l layout, left, top float64) {
	x, y := p.axes()
	x, y = x.Between(left+l.left, left+l.wide-marginRight), y.Between(top+l.high-l.below, top+marginTop)
	d.text(left+l.wide/2, top+18, "middle", ink, 13, p.Title)
	d.grid(x, y, p.Groups == nil)
	d.turnedText(left+14, (y.From+y.To)/2, -90, "middle", p.Y)
	d.text((x.From+x.To)/2, top+l.high-8, "middle", soft, 11, p.X)
	if p.Groups != nil {
		p.drawBars(d, l, x, y)
		return
	}
	for _, s := range p.Series {
		p.drawLine(d, slices.Index(l.names, s.Name), p.visible(s), x, y)
	}
}

// drawLine draws a series with the colour, dash and mark of its name.
func (p *Panel) drawLine(d *drawing, n int, s Series, x, y axis.Axis) {
	var at []point
	for i := range s.X {
		at = append(at, point{x.Place(s.X[i]), y.Place(s.Y[i])})
	}
	if !p.Points {
		d.line(n, at)
	}
	for i, c := range at {
		if s.Err != nil {
			d.whisker(n, c.x, y.Place(p.lower(s.Y[i], s.Err[i])), y.Place(s.Y[i]+s.Err[i]))
		}
		if p.Points || len(at) <= 40 {
			d.mark(n, c)
		}
		if s.Labels != nil {
			d.text(c.x+7, c.y-4, "start", colourOf(n), 11, s.Labels[i])
		}
	}
}

// drawBars draws the groups and their names.
func (p *Panel) drawBars(d *drawing, l layout, x, y axis.Axis) {
	n := max(1, len(p.Series))
	if p.Stacked {
		n = 1
	}
	group := (x.To - x.From) / float64(max(1, len(p.Groups)))
	wide := group / (float64(n) + 1)
	for _, b := range p.bars() {
		at := x.From + group*(float64(b.group)+0.5) + wide*(float64(b.series%n)-float64(n)/2)
		d.rect(at, y.Place(max(b.from, b.to)), wide*0.94,
			math.Abs(y.Place(b.to)-y.Place(b.from)), slices.Index(l.names, p.Series[b.series].Name))
	}
	turned := p.turned(l.wide)
	for g, name := range p.Groups {
		if at := x.From + group*(float64(g)+0.5); turned {
			d.turnedText(at+4, y.From+14, -45, "end", name)
		} else {
			d.text(at, y.From+17, "middle", soft, 11, name)
		}
	}
}
