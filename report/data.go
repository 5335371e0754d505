package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"capgnn/internal/axis"
	"capgnn/internal/number"
)

// splits are the keys of runfile.Data.Classes in the order in which they are stacked.
var splits = []kind{{"train", "training", 7}, {"val", "validation", 1}, {"test", "test", 0}, {"none", "in no split", 3}}

// dataSection draws the data set.
func (r *Run) dataSection() (section, bool) {
	if r.Result == nil || r.Result.Data == nil {
		return section{}, false
	}
	return sectionOf("Data set", "", r.classBars(), degreeHistogram(r.Result.Data.Degrees))
}

// classBars draws how large classes are: of many, the largest.
func (r *Run) classBars() *bars {
	what := [2]string{"Vertices of each class", "classes"}
	if r.multiLabel() {
		what = [2]string{"Vertices with each label", "labels"}
	}
	var classes []int
	var sizes []float64
	for _, s := range splits {
		for c, x := range r.Result.Data.Classes[s.key] {
			if c == len(sizes) {
				classes, sizes = append(classes, c), append(sizes, 0)
			}
			sizes[c] += float64(x)
		}
	}
	b := bars{ID: "class-sizes", Title: what[0]}
	if n := len(classes); n > shownClasses {
		slices.SortStableFunc(classes, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
		b.Note = fmt.Sprintf("the %d largest of %d %s; the smallest has %s", shownClasses, n, what[1], number.Counted(int(sizes[classes[n-1]]), "vertex"))
		classes = classes[:shownClasses]
	}
	var labels []string
	var rows []map[string]float64
	for _, c := range classes {
		row := map[string]float64{}
		for _, s := range splits {
			if list := r.Result.Data.Classes[s.key]; c < len(list) {
				row[s.key] = float64(list[c])
			}
		}
		labels, rows = append(labels, r.className(c)), append(rows, row)
	}
	return barsOf(b, count, splits, labels, rows)
}

// histogram is a picture of standing bars, on a logarithmic axis.
type histogram struct {
	ID, Title, Note, XName string
	Y                      axis.Axis
	Bins                   []bin
	Data                   []int
}

// bin is one bar: its place, the text under the pointer, and the one below the bar ("" where there is no room).
type bin struct {
	X, Y, Width, Height float64
	Text, Below         string
}

const (
	histogramLetter = 6.6 // about the width of a digit below a bar
	leastBar        = 2.0 // the height of one vertex, of which the logarithm is 0
	maxBins         = 65  // that degrees of up to 64 bits can need
)

// degreeHistogram draws how many vertices have 0, 1, 2–3, 4–7, … in-neighbours; nil where there are no such counts.
func degreeHistogram(counts []int) *histogram {
	most := 0
	for _, x := range counts {
		if x < 0 {
			return nil
		}
		most = max(most, x)
	}
	n := len(counts)
	if most == 0 || n > maxBins {
		return nil
	}
	const bottom = chartHeight - marginBelow
	h := &histogram{ID: "degrees", Title: "Degrees", XName: "in-neighbours, the least of each bar", Note: "how many vertices have how many in-neighbours; both axes are logarithmic; a vertex with a loop in the data set is its own neighbour", Data: counts}
	h.Y = axis.Log(1, float64(max(most, 10)), plain).Between(bottom, marginTop)
	wide := float64(chartWidth-marginLeft-marginRight) / float64(n)
	longest := fmt.Sprintf("%.0f", math.Exp2(float64(max(n-2, 0))))
	every := int(math.Ceil((float64(len(longest)) + 1) * histogramLetter / wide))
	for k, x := range counts {
		lo, text := 0.0, "0"
		if k > 0 {
			lo = math.Exp2(float64(k - 1))
			if text = written(count, lo); k > 1 {
				text += " to " + written(count, 2*lo-1)
			}
		}
		b := bin{X: marginLeft + wide*float64(k) + wide*0.08, Width: wide * 0.84, Text: fmt.Sprintf("degree %s: %s", text, written(count, float64(x)))}
		if x >= 1 {
			b.Height = max(leastBar, bottom-h.Y.Place(float64(x)))
		}
		if b.Y = bottom - b.Height; k%every == 0 {
			b.Below = fmt.Sprintf("%.0f", lo)
		}
		h.Bins = append(h.Bins, b)
	}
	return h
}

// Middle is where the text below stands.
func (b bin) Middle() float64 { return b.X + b.Width/2 }
