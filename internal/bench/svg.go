package bench

import (
	"fmt"
	"html"
	"strings"

	"capgnn/internal/axis"
)

// Figures look like the light pages of package report: its colours, its ink, its panels.
const (
	ink, soft, gridColour, panelColour = "#1c2430", "#5b6675", "#d9dee5", "#f6f8fa"
	font                               = `system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`
)

// colours of lines and bars are told apart by people with colour blindness, too.
var colours = []string{"#0072b3", "#d98d00", "#009e73", "#b4418a", "#d35600", "#51b3e8", "#816be3", "#9b8cae"}

// shapes are the marks of lines of radius 1; their number has no divisor in common with that of the colours, so that
// many pairs differ.
var shapes = []struct {
	points []point
	open   bool // lines alone
}{
	{points: nil}, // a disc
	{points: []point{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}},
	{points: []point{{0, -1.2}, {1.1, 0.8}, {-1.1, 0.8}}},
	{points: []point{{-1.2, 0}, {1.2, 0}, {0, 0}, {0, -1.2}, {0, 1.2}}, open: true},
	{points: []point{{-1, -1}, {1, 1}, {0, 0}, {1, -1}, {-1, 1}}, open: true},
	{points: []point{{0, -1.4}, {1.1, 0}, {0, 1.4}, {-1.1, 0}}},
	{points: []point{{0, 1.2}, {1.1, -0.8}, {-1.1, -0.8}}},
}

// dashes are the patterns of lines: where one lies on another, the lower one shows in the gaps.
var dashes = []string{"", "9 5", "3 5", "12 4 3 4", "5 9"}

// The line of a later name, which lies above, is thinner, its mark smaller.
func colourOf(n int) string    { return colours[n%len(colours)] }
func dashOf(n int) string      { return dashes[n%len(dashes)] }
func widthOf(n int) float64    { return max(1.6, 3.2-0.4*float64(n)) }
func markRadius(n int) float64 { return max(2.8, 4.6-0.4*float64(n)) }
func places(at []point) string { return strings.Join(placed(at, 0, point{}), " ") }
func pixel(x float64) string   { return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0") }
func placed(at []point, r float64, from point) (out []string) {
	for _, p := range at {
		if r > 0 {
			p = point{from.x + r*p.x, from.y + r*p.y}
		}
		out = append(out, pixel(p.x)+","+pixel(p.y))
	}
	return out
}

type point struct{ x, y float64 }

// drawing is a picture that is being drawn, in SVG.
type drawing struct{ b strings.Builder }

// add writes an element; numbers become pixels.
func (d *drawing) add(format string, args ...any) {
	for i, a := range args {
		if x, ok := a.(float64); ok {
			args[i] = pixel(x)
		}
	}
	fmt.Fprintf(&d.b, format+"\n", args...)
}

func (d *drawing) begin(width, height float64) {
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" font-family="%s">`,
		width, height, html.EscapeString(font))
	d.add(`<rect width="100%%" height="100%%" fill="%s"/>`, panelColour)
}

func (d *drawing) end() string { return d.b.String() + "</svg>\n" }

// text writes at a place; anchor says whether it begins, has its middle or ends there.
func (d *drawing) text(x, y float64, anchor, colour string, size int, text string) {
	if text != "" {
		d.add(`<text x="%s" y="%s" text-anchor="%s" fill="%s" font-size="%d">%s</text>`,
			x, y, anchor, colour, size, html.EscapeString(text))
	}
}

// turnedText writes in a direction of so many degrees.
func (d *drawing) turnedText(x, y float64, degrees int, anchor, text string) {
	d.add(`<text transform="translate(%s %s) rotate(%d)" text-anchor="%s" fill="%s" font-size="11">%s</text>`,
		x, y, degrees, anchor, soft, html.EscapeString(text))
}

// grid draws the lines of the ticks and labels them; without across, those of y alone.
func (d *drawing) grid(x, y axis.Axis, across bool) {
	segment := `<path d="M%s %sL%s %s" stroke="` + gridColour + `"/>`
	for _, t := range y.Ticks {
		d.add(segment, x.From, t.At, x.To, t.At)
		d.text(x.From-6, t.At+4, "end", soft, 11, t.Text)
	}
	end := -1e9
	for _, t := range x.Ticks {
		if !across {
			break
		}
		d.add(segment, t.At, y.From, t.At, y.To)
		if half := letterWidth * float64(len([]rune(t.Text))) / 2; t.At-half > end+4 { // labels do not touch
			d.text(t.At, y.From+17, "middle", soft, 11, t.Text)
			end = t.At + half
		}
	}
}

// line draws the line of the n-th name.
func (d *drawing) line(n int, at []point) {
	d.add(`<polyline points="%s" fill="none" stroke="%s" stroke-width="%s" stroke-dasharray="%s" stroke-linejoin="round"/>`,
		places(at), colourOf(n), widthOf(n), dashOf(n))
}

// mark draws the mark of the n-th name.
func (d *drawing) mark(n int, at point) {
	switch shape := shapes[n%len(shapes)]; {
	case shape.points == nil:
		d.add(`<circle cx="%s" cy="%s" r="%s" fill="%s"/>`, at.x, at.y, markRadius(n), colourOf(n))
	case shape.open:
		d.add(`<polyline points="%s" fill="none" stroke="%s" stroke-width="1.8"/>`,
			strings.Join(placed(shape.points, markRadius(n), at), " "), colourOf(n))
	default:
		d.add(`<polygon points="%s" fill="%s"/>`, strings.Join(placed(shape.points, markRadius(n), at), " "), colourOf(n))
	}
}

// whisker draws an error bar.
func (d *drawing) whisker(n int, x, from, to float64) {
	d.add(`<path d="M%s %sV%sM%s %[2]sh8M%[4]s %[3]sh8" stroke="%s"/>`, x, from, to, x-4, colourOf(n))
}

func (d *drawing) rect(x, y, wide, high float64, n int) {
	d.add(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, x, y, wide, high, colourOf(n))
}

// legend writes all names below each other in columns, each behind its line with its mark, or, of bars, a box.
func (d *drawing) legend(l layout, width, top float64, bars bool) {
	step := (width - 40) / float64(l.perRow)
	for i, name := range l.names {
		x, y, mark := 24+step*float64(i%l.perRow), top+legendRow*(float64(i/l.perRow)+0.5), float64(legendLine)
		if bars {
			mark = 14
			d.rect(x, y-6, 12, 12, i)
		} else {
			d.line(i, []point{{x, y}, {x + legendLine, y}})
			d.mark(i, point{x + legendLine/2, y})
		}
		d.text(x+mark+6, y+4, "start", ink, 12, name)
	}
}
