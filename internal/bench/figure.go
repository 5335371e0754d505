package bench

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"capgnn/internal/atomicfile"
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

// Size of a panel and of a row of the legend.
const (
	panelWidth  = 9.5 * vg.Centimeter
	panelHeight = 7.5 * vg.Centimeter
	legendRow   = 0.6 * vg.Centimeter
	letterWidth = 0.22 * vg.Centimeter // of the legend, about
	barWidth    = 0.5 * vg.Centimeter
	plotDPI     = 130
)

// write draws the figure to base.png and base.svg.
func (f *Figure) write(base string) error {
	across := f.Across
	if across == 0 { // as few rows as four panels beside each other need, as full as they can be
		needed := max(1, (len(f.Panels)+3)/4)
		across = (len(f.Panels) + needed - 1) / needed
	}
	across = max(1, min(across, len(f.Panels)))
	names := f.names()
	rows := (len(f.Panels) + across - 1) / across
	wide := f.wide()
	longest := 0
	for _, name := range names {
		longest = max(longest, len(name))
	}
	perRow := max(1, int(wide*vg.Length(across)/(letterWidth*vg.Length(longest)+2*vg.Centimeter)))
	legend := vg.Length((len(names)+perRow-1)/perRow) * legendRow
	if len(names) < 2 {
		legend = 0
	}
	width, height := wide*vg.Length(across), panelHeight*vg.Length(rows)+legend
	grid, err := f.grid(rows, across, names)
	if err != nil {
		return err
	}
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(plotDPI), vgimg.UseBackgroundColor(panelColour))}
	svg := vgsvg.New(width, height)
	for end, c := range map[string]vg.CanvasWriterTo{".png": png, ".svg": svg} {
		all := draw.New(c)
		drawGrid(draw.Crop(all, 0, 0, legend, 0), grid)
		if legend > 0 {
			drawLegend(draw.Crop(all, vg.Centimeter, 0, 0, -(height-legend)), names, perRow, f.Panels[0].Groups != nil)
		}
		if err := atomicfile.Write(base+end, func(w io.Writer) error { _, err := c.WriteTo(w); return err }); err != nil {
			return err
		}
	}
	return nil
}

// wide is the width of a panel: more for many bars.
func (f *Figure) wide() vg.Length {
	width := panelWidth
	for _, p := range f.Panels {
		width = max(width, barWidth*vg.Length(len(p.Groups)*(len(p.Series)+1))+2*vg.Centimeter)
	}
	return width
}

// names returns the names of all series, in the order in which they first occur.
func (f *Figure) names() []string {
	var names []string
	for _, p := range f.Panels {
		for _, s := range p.Series {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

func (f *Figure) grid(rows, across int, names []string) ([][]*plot.Plot, error) {
	grid := make([][]*plot.Plot, rows)
	for r := range grid {
		grid[r] = make([]*plot.Plot, across)
	}
	for i := range f.Panels {
		p, err := f.Panels[i].plot(names, f.wide())
		if err != nil {
			return nil, fmt.Errorf("panel %q: %w", f.Panels[i].Title, err)
		}
		grid[i/across][i%across] = p
	}
	return grid, nil
}

func (p *Panel) plot(names []string, wide vg.Length) (*plot.Plot, error) {
	if p.Y == "" || p.X == "" && p.Groups == nil {
		return nil, errors.New("an axis does not say what it shows, and in which unit")
	}
	out := plot.New()
	out.Title.Text, out.X.Label.Text, out.Y.Label.Text = p.Title, p.X, p.Y
	across, upright := ticksOf(wide, true), ticksOf(wide, false)
	out.X.Tick.Marker, out.Y.Tick.Marker = across, upright
	dress(out)
	if p.Groups != nil {
		return out, p.bars(out, names, wide)
	}
	if err := p.lines(out, names); err != nil {
		return nil, err
	}
	if p.Counts {
		out.X.Min, out.X.Max, across.whole = 0, max(1, out.X.Max), true
	}
	if p.LogX && out.X.Min > 0 && out.X.Max > out.X.Min {
		out.X.Scale, across.log = plot.LogScale{}, true
	}
	if p.LogY && out.Y.Min > 0 && out.Y.Max > out.Y.Min {
		out.Y.Scale, upright.log = plot.LogScale{}, true
	}
	out.X.Tick.Marker, out.Y.Tick.Marker = across, upright
	return out, nil
}

// lines draws every series with the colour and mark of its name.
func (p *Panel) lines(out *plot.Plot, names []string) error {
	for _, s := range p.Series {
		points, s := p.visible(s)
		if len(points) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		n := slices.Index(names, s.Name)
		line.LineStyle, marks.GlyphStyle = lineOf(n), markOf(n)
		if !p.Points {
			out.Add(line)
		}
		if p.Points || len(points) <= 40 {
			out.Add(marks)
		}
		if err := p.annotate(out, s, points, marks.GlyphStyle); err != nil {
			return err
		}
	}
	if p.FromZero && !p.LogY {
		out.Y.Min, out.Y.Max = 0, headroom(out.Y.Max)
	}
	return nil
}

// annotate draws the errors and the labels of points.
func (p *Panel) annotate(out *plot.Plot, s Series, points plotter.XYs, mark draw.GlyphStyle) error {
	if s.Err != nil {
		spread := make(plotter.YErrors, len(points))
		for i, e := range s.Err {
			spread[i].Low, spread[i].High = e, e
		}
		bars, err := plotter.NewYErrorBars(struct {
			plotter.XYs
			plotter.YErrors
		}{points, spread})
		if err != nil {
			return err
		}
		bars.Color, bars.Width = mark.Color, vg.Points(1)
		out.Add(bars)
	}
	if s.Labels == nil {
		return nil
	}
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: points, Labels: s.Labels})
	if err != nil {
		return err
	}
	labels.Offset = vg.Point{X: vg.Points(5), Y: vg.Points(3)}
	for i := range labels.TextStyle {
		labels.TextStyle[i].Color, labels.TextStyle[i].Font.Variant = mark.Color, "Sans"
	}
	out.Add(labels)
	return nil
}

// headroom is the end of an axis whose largest value shall not touch it.
func headroom(largest float64) float64 {
	if largest <= 0 {
		return largest
	}
	return 1.05 * largest
}

// visible returns the points that can be drawn, and the series of them alone.
func (p *Panel) visible(s Series) (out plotter.XYs, shown Series) {
	for i := range min(len(s.X), len(s.Y)) {
		x, y := s.X[i], s.Y[i]
		if math.IsNaN(x+y) || math.IsInf(x+y, 0) || p.LogX && x <= 0 || p.LogY && y <= 0 {
			continue
		}
		out = append(out, plotter.XY{X: x, Y: y})
		shown.X, shown.Y = append(shown.X, x), append(shown.Y, y)
		if s.Err != nil {
			shown.Err = append(shown.Err, s.Err[i])
		}
		if s.Labels != nil {
			shown.Labels = append(shown.Labels, s.Labels[i])
		}
	}
	shown.Name = s.Name
	return out, shown
}

// bars draws the series of a group beside each other.
func (p *Panel) bars(out *plot.Plot, names []string, wide vg.Length) error {
	n, below := len(p.Series), (*plotter.BarChart)(nil)
	if p.Stacked {
		n = 1
	}
	width := 0.75 * wide / vg.Length(max(1, len(p.Groups)*n+len(p.Groups)))
	for i, s := range p.Series {
		values := make(plotter.Values, len(p.Groups))
		for g := range values {
			if g < len(s.Y) && !math.IsNaN(s.Y[g]) {
				values[g] = s.Y[g]
			}
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = colours[slices.Index(names, s.Name)%len(colours)], 0
		if bars.Offset = width * (vg.Length(i%n) - vg.Length(n-1)/2); p.Stacked && i > 0 {
			bars.StackOn(below)
		}
		below = bars
		out.Add(bars)
	}
	out.NominalX(p.Groups...)
	longest := 0
	for _, g := range p.Groups {
		longest = max(longest, len(g))
	}
	if float64(longest*len(p.Groups)) > 36*float64(wide/panelWidth) {
		out.X.Tick.Label.Rotation, out.X.Tick.Label.XAlign, out.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YTop
	}
	out.Y.Min, out.Y.Max = min(0, out.Y.Min), headroom(out.Y.Max)
	return nil
}

func drawGrid(c draw.Canvas, grid [][]*plot.Plot) {
	pad := 3 * vg.Millimeter
	tiles := draw.Tiles{Rows: len(grid), Cols: len(grid[0]), PadX: 2 * pad, PadY: 2 * pad, PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: 2 * pad}
	for r, row := range plot.Align(grid, tiles, c) {
		for i, canvas := range row {
			if grid[r][i] != nil {
				grid[r][i].Draw(canvas)
			}
		}
	}
}
