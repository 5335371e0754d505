package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/bench"
	"capgnn/rapa"
)

// plotTrace writes vertices, edges and cost of every part over the steps (Fig. 20 of the paper) to a file, or where
// there is one step only, a bar for each part. cost says what the cost is, names what the legend calls the parts.
func plotTrace(file, cost string, trace []rapa.Iteration, names []string) error {
	f := bench.Figure{Across: 3}
	for _, q := range []struct {
		title, unit string
		of          func(rapa.PartState) float64
	}{
		{"vertices, halo included", "vertices", func(p rapa.PartState) float64 { return float64(p.Inner + p.Halo) }},
		{"edges", "edges", func(p rapa.PartState) float64 { return float64(p.Edges) }},
		{cost, cost, func(p rapa.PartState) float64 { return p.Cost }},
	} {
		if !slices.ContainsFunc(trace[0].Parts, func(p rapa.PartState) bool { return q.of(p) != 0 }) {
			continue // parts that no device computes have no cost
		}
		panel := bench.Panel{Title: q.title, X: "step", Y: q.unit, FromZero: true, Counts: true}
		if len(trace) == 1 {
			bars := bench.Series{Name: "parts"}
			for i, part := range trace[0].Parts {
				panel.Groups, bars.Y = append(panel.Groups, fmt.Sprint(i)), append(bars.Y, q.of(part))
			}
			panel.X, panel.Series = "part", []bench.Series{bars}
			f.Panels = append(f.Panels, panel)
			continue
		}
		for i, name := range names {
			line := bench.Series{Name: name}
			for s, step := range trace {
				line.X, line.Y = append(line.X, float64(s)), append(line.Y, q.of(step.Parts[i]))
			}
			panel.Series = append(panel.Series, line)
		}
		f.Panels = append(f.Panels, panel)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return term.Usagef("--plot: %w", err)
	}
	if err := f.Write(file); err != nil {
		return term.Usagef("--plot: %w", err)
	}
	return nil
}

// plotFile is the file that --plot NAME draws.
func plotFile(name string) string { return strings.TrimSuffix(name, ".svg") + ".svg" }
