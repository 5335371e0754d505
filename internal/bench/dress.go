package bench

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Figures look like the light pages of package report: its colours, its ink, its panels. Colours of lines are told apart by people with
// colour blindness, too.
var (
	colours = []color.RGBA{
		{0x00, 0x72, 0xb3, 255}, {0xd9, 0x8d, 0x00, 255}, {0x00, 0x9e, 0x73, 255}, {0xb4, 0x41, 0x8a, 255},
		{0xd3, 0x56, 0x00, 255}, {0x51, 0xb3, 0xe8, 255}, {0x81, 0x6b, 0xe3, 255}, {0x9b, 0x8c, 0xae, 255},
	}
	ink         = color.RGBA{0x1c, 0x24, 0x30, 255}
	soft        = color.RGBA{0x5b, 0x66, 0x75, 255}
	gridColour  = color.RGBA{0xd9, 0xde, 0xe5, 255}
	panelColour = color.RGBA{0xf6, 0xf8, 0xfa, 255}
)

// shapes are the marks of lines; their number has no divisor in common with that of the colours, so that many pairs differ.
var shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PlusGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{}, draw.PyramidGlyph{}}

// dashes are the patterns of lines: where one lies on another, the lower one shows in the gaps.
var dashes = [][]vg.Length{nil, {vg.Points(7), vg.Points(4)}, {vg.Points(2), vg.Points(4)}, {vg.Points(9), vg.Points(3), vg.Points(2), vg.Points(3)}, {vg.Points(4), vg.Points(7)}}

// lineOf is the line of the n-th name: later ones, which lie above, are thinner.
func lineOf(n int) draw.LineStyle {
	return draw.LineStyle{Color: colours[n%len(colours)], Width: vg.Points(max(1.2, 2.4-0.3*float64(n))), Dashes: dashes[n%len(dashes)]}
}

// markOf is the mark of the n-th name: earlier ones, which lie below, are larger.
func markOf(n int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: colours[n%len(colours)], Shape: shapes[n%len(shapes)], Radius: vg.Points(max(2.2, 3.8-0.3*float64(n)))}
}

// dress gives a plot the look of a report.
func dress(p *plot.Plot) {
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = gridColour, gridColour
	p.Add(grid)
	p.BackgroundColor = panelColour
	p.Title.TextStyle.Color, p.Title.TextStyle.Font.Variant, p.Title.Padding = ink, "Sans", vg.Points(4)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color = gridColour, gridColour
		a.Label.TextStyle.Color, a.Label.TextStyle.Font.Variant = soft, "Sans"
		a.Tick.Label.Color, a.Tick.Label.Font.Variant = soft, "Sans"
	}
}

// drawLegend writes all names below each other in columns, each behind its line with its mark, or, of bars, a box.
func drawLegend(c draw.Canvas, names []string, perRow int, bars bool) {
	style := plot.New().Legend.TextStyle
	style.YAlign, style.Color, style.Font.Variant = draw.YCenter, ink, "Sans"
	step, mark := (c.Max.X-c.Min.X)/vg.Length(perRow), legendLine
	if bars {
		mark = vg.Points(10)
	}
	for i, name := range names {
		at := vg.Point{X: c.Min.X + step*vg.Length(i%perRow), Y: c.Max.Y - legendRow*(vg.Length(i/perRow)+0.5)}
		if bars {
			c.DrawGlyph(draw.GlyphStyle{Color: colours[i%len(colours)], Radius: vg.Points(4), Shape: draw.BoxGlyph{}}, vg.Point{X: at.X + vg.Points(5), Y: at.Y})
		} else {
			c.StrokeLine2(lineOf(i), at.X, at.Y, at.X+legendLine, at.Y)
			c.DrawGlyph(markOf(i), vg.Point{X: at.X + legendLine/2, Y: at.Y})
		}
		c.FillText(style, vg.Point{X: at.X + mark + vg.Points(4), Y: at.Y}, name)
	}
}

// legendLine is the length of a line in the legend: whole patterns of it.
const legendLine = 1.1 * vg.Centimeter
