package main

import (
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/atomicfile"
	"capgnn/rapa"
)

// partColours are told apart by most people with colour blindness (Okabe and Ito).
var partColours = []color.RGBA{
	{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {213, 94, 0, 255}, {86, 180, 233, 255}, {0, 0, 0, 255}, {128, 128, 128, 255},
}

// Size of the picture: three panels beside each other.
const (
	plotWidth  = 30 * vg.Centimeter
	plotHeight = 9 * vg.Centimeter
	plotDPI    = 150
)

// plotTrace writes vertices, edges and λ of every part over the steps (Fig. 20 of the paper) to base.png and base.svg.
// cost says what the cost is, names what the legend calls the parts.
func plotTrace(base, cost string, trace []rapa.Iteration, names []string) ([]string, error) {
	panels := []struct {
		title string
		of    func(rapa.PartState) float64
	}{
		{"vertices, halo included", func(p rapa.PartState) float64 { return float64(p.Inner + p.Halo) }},
		{"edges", func(p rapa.PartState) float64 { return float64(p.Edges) }},
		{cost, func(p rapa.PartState) float64 { return p.Cost }},
	}
	var plots []*plot.Plot
	for i, panel := range panels {
		p, err := tracePanel(panel.title, trace, names, panel.of, i == len(panels)-1)
		if err != nil {
			return nil, err
		}
		plots = append(plots, p)
	}
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(plotWidth, plotHeight), vgimg.UseDPI(plotDPI), vgimg.UseBackgroundColor(color.White))}
	svg := vgsvg.New(plotWidth, plotHeight)
	files := plotFiles(base)
	for i, c := range []vg.CanvasWriterTo{png, svg} {
		drawPanels(draw.New(c), plots)
		if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
			return nil, term.Usagef("--plot: %w", err)
		}
		if err := atomicfile.Write(files[i], func(w io.Writer) error { _, err := c.WriteTo(w); return err }); err != nil {
			return nil, term.Usagef("--plot: %w", err)
		}
	}
	return files, nil
}

// plotFiles are the files of a plot: pixels, and lines.
func plotFiles(base string) []string { return []string{base + ".png", base + ".svg"} }

// tracePanel draws one quantity: a line per part, or, where there is one step only, a bar per part.
func tracePanel(title string, trace []rapa.Iteration, names []string, of func(rapa.PartState) float64, legend bool) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = title
	p.Y.Min = 0
	p.Add(plotter.NewGrid())
	if len(trace) == 1 {
		return p, barsOf(p, trace[0], names, of)
	}
	p.X.Label.Text = "step"
	p.X.Tick.Marker = plot.ConstantTicks(stepTicks(len(trace)))
	for i, name := range names {
		points := make(plotter.XYs, len(trace))
		for s, step := range trace {
			points[s].X, points[s].Y = float64(s), of(step.Parts[i])
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, fmt.Errorf("plot %s of part %d: %w", title, i, err)
		}
		colour := partColours[i%len(partColours)]
		line.Color, line.Width = colour, vg.Points(1.5)
		marks.Color, marks.Shape, marks.Radius = colour, draw.CircleGlyph{}, vg.Points(2)
		p.Add(line, marks)
		if legend && i < maxLegend {
			p.Legend.Add(name, line, marks)
		}
		p.Y.Max = max(p.Y.Max, 1.05*maximum(points))
	}
	p.Y.Min = 0
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(4), vg.Points(4)
	return p, nil
}

// stepTicks returns marks at whole steps, about eight of them.
func stepTicks(steps int) []plot.Tick {
	var ticks []plot.Tick
	for s := 0; s < steps; s += 1 + steps/9 {
		ticks = append(ticks, plot.Tick{Value: float64(s), Label: fmt.Sprint(s)})
	}
	return ticks
}

// maxLegend bounds the names in a legend; with more parts they would cover the lines.
const maxLegend = 8

func barsOf(p *plot.Plot, step rapa.Iteration, names []string, of func(rapa.PartState) float64) error {
	values := make(plotter.Values, len(step.Parts))
	for i, part := range step.Parts {
		values[i] = of(part)
	}
	bars, err := plotter.NewBarChart(values, plotWidth/vg.Length(5*(1+len(values))))
	if err != nil {
		return fmt.Errorf("plot parts: %w", err)
	}
	bars.Color, bars.LineStyle.Width = partColours[0], 0
	p.Add(bars)
	p.X.Label.Text = "part"
	ticks := make([]string, len(names))
	for i := range names {
		ticks[i] = fmt.Sprint(i)
	}
	p.NominalX(ticks...)
	return nil
}

func maximum(points plotter.XYs) float64 {
	m := 0.0
	for _, q := range points {
		m = max(m, q.Y)
	}
	return m
}

// drawPanels draws the plots beside each other.
func drawPanels(c draw.Canvas, plots []*plot.Plot) {
	tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadX: vg.Millimeter * 6, PadTop: vg.Millimeter * 3, PadBottom: vg.Millimeter * 3, PadLeft: vg.Millimeter * 3, PadRight: vg.Millimeter * 5}
	for i, canvas := range plot.Align([][]*plot.Plot{plots}, tiles, c)[0] {
		plots[i].Draw(canvas)
	}
}
