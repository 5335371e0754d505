package report

import "math"

// bars is a picture of lying bars, one for each device, part or run, each made of segments.
type bars struct {
	ID, Title, Note string
	Rows            []barRow
	Legend          []segment            // every kind of segment, in order
	Data            []map[string]float64 // the numbers of each row by kind
}

// barRow is one bar.
type barRow struct {
	Label, Text string
	Segments    []segment
}

// segment is one piece of a bar.
type segment struct {
	Name, Text string
	Colour     int
	Width      float64 // percent of the longest bar
}

// kind is what a segment of a bar stands for.
type kind struct {
	key, name string
	colour    int
}

// barsOf draws the numbers of each row, by key, with the kinds that occur; nil where there is nothing to draw.
func barsOf(b bars, q quantity, kinds []kind, labels []string, rows []map[string]float64) *bars {
	longest := 0.0
	used := map[string]bool{}
	for _, row := range rows {
		sum := 0.0
		for _, k := range kinds {
			if x := row[k.key]; x > 0 && x <= largest {
				sum += x
				used[k.key] = true
			}
		}
		longest = max(longest, sum)
	}
	if longest == 0 || math.IsInf(longest, 0) {
		return nil
	}
	for _, k := range kinds {
		if used[k.key] {
			b.Legend = append(b.Legend, segment{Name: k.name, Colour: k.colour})
		}
	}
	for i, row := range rows {
		out, sum := barRow{Label: labels[i]}, 0.0
		for _, k := range kinds {
			if x := row[k.key]; x > 0 && x <= largest {
				sum += x
				out.Segments = append(out.Segments, segment{k.name, written(q, x), k.colour, 100 * x / longest})
			}
		}
		out.Text = written(q, sum)
		if len(out.Segments) == 2 && len(kinds) == 2 {
			out.Text = out.Segments[0].Text + " + " + out.Segments[1].Text
		}
		b.Rows, b.Data = append(b.Rows, out), append(b.Data, row)
	}
	return &b
}
