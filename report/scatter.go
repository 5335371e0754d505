package report

import (
	"capgnn/internal/axis"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// scatter is a picture of points in groups, with one unit of length on both axes.
type scatter struct {
	ID, Title, Note, XName, YName string
	X, Y                          axis.Axis
	Groups                        []scatterGroup // as they are drawn: the largest first, so that no small one is hidden
	Legend                        []scatterGroup // by number
	Height                        float64        // of the picture, which is chartWidth wide
	Data                          scatterData
}

// scatterGroup are the points of one mark.
type scatterGroup struct {
	Place  int    // in the legend
	Name   string // with the number of points
	Colour string // of the style sheet
	Shape  string // the mark of the legend, around the origin, as an SVG path
	Path   string // the marks of all points
	number int    // of the group: below 0 it has no mark of its own
	points []int
}

// scatterData are the numbers of the points.
type scatterData struct {
	X      []float64 `json:"x"`
	Y      []float64 `json:"y"`
	Groups []int     `json:"groups"` // null: all are of one
}

// Sizes of a scatter in units of the picture.
const (
	scatterLeast, scatterMost = 110.0, 360.0 // heights of the plot
	scatterTop                = 24.0         // above it
	scatterPad                = 0.03         // free on every side, as a share of the plot's
)

// scatterMarks are shapes around a point, as SVG paths that begin there. With the colours they tell colourCount·len(scatterMarks) groups from each other.
var scatterMarks = []string{
	"m-2.8 0a2.8 2.8 0 1 0 5.6 0a2.8 2.8 0 1 0-5.6 0",   // disc
	"m0-3.6l3.3 5.8h-6.6z",                              // triangle
	"m-2.6-2.6h5.2v5.2h-5.2z",                           // square
	"m-1-3.4h2v2.4h2.4v2h-2.4v2.4h-2v-2.4h-2.4v-2h2.4z", // plus
	"m0-3.9l2.9 3.9l-2.9 3.9l-2.9-3.9z",                 // diamond
	"m0 3.6l3.3-5.8h-6.6z",                              // triangle upside down
	"m-3.2-1l2.2-2.2l1 2.2l1-2.2l2.2 2.2l-2.2 1l2.2 1l-2.2 2.2l-1-2.2l-1 2.2l-2.2-2.2l2.2-1z", // cross
}

// ungrouped is the number of a group whose points have nothing in common.
const ungrouped = -1

// scatterOf draws the points at x and y. groups are numbers from 0 on, ungrouped for none; nil: points are alike and there is no legend. Of more
// groups than there are marks, the smallest have none.
func scatterOf(s scatter, x, y []float64, groups []int, name func(group int) string) *scatter {
	s.Data = scatterData{x, y, groups}
	s.scale(x, y)
	if groups == nil {
		all := make([]int, len(x))
		for i := range all {
			all[i] = i
		}
		s.Groups = []scatterGroup{{Colour: "f0", Path: s.marks(all, x, y, scatterMarks[0])}}
		return &s
	}
	list, others := grouped(groups)
	for k := range list {
		g := &list[k]
		shape := scatterMarks[0]
		g.Place, g.Colour = k, "fx"
		switch {
		case g.number >= 0:
			g.Name, g.Colour, shape = name(g.number), fmt.Sprintf("f%d", k%colourCount), scatterMarks[k/colourCount]
		case others > 0:
			g.Name = fmt.Sprintf("%d other groups", others)
		default:
			g.Name = name(ungrouped)
		}
		g.Name += " (" + written(count, float64(len(g.points))) + ")"
		g.Shape, g.Path = "M0 0"+shape, s.marks(g.points, x, y, shape)
	}
	s.Legend = list
	s.Groups = slices.SortedStableFunc(slices.Values(list), func(a, b scatterGroup) int { return cmp.Compare(len(b.points), len(a.points)) })
	return &s
}

// grouped returns the groups by number, and last the points without a mark of their own: those of no group and, where there are more groups than marks,
// of the smallest ones, of which it returns how many there are.
func grouped(groups []int) (list []scatterGroup, others int) {
	at := map[int]int{}
	for i, number := range groups {
		number = max(number, ungrouped)
		k, seen := at[number]
		if !seen {
			k, at[number] = len(list), len(list)
			list = append(list, scatterGroup{number: number})
		}
		list[k].points = append(list[k].points, i)
	}
	slices.SortFunc(list, func(a, b scatterGroup) int {
		return cmp.Or(cmp.Compare(min(b.number, 0), min(a.number, 0)), cmp.Compare(len(b.points), len(a.points)), cmp.Compare(a.number, b.number))
	})
	if marks := colourCount * len(scatterMarks); len(list) > marks {
		rest := scatterGroup{number: ungrouped}
		for _, g := range list[marks:] {
			rest.points = append(rest.points, g.points...)
			if g.number >= 0 {
				others++
			}
		}
		list = append(list[:marks], rest)
	}
	slices.SortFunc(list, func(a, b scatterGroup) int {
		return cmp.Or(cmp.Compare(min(b.number, 0), min(a.number, 0)), cmp.Compare(a.number, b.number))
	})
	return list, others
}

// scale chooses axes on which all points lie, with one unit of length.
func (s *scatter) scale(x, y []float64) {
	const wide = chartWidth - marginLeft - marginRight
	across, up := slices.Max(x)-slices.Min(x), slices.Max(y)-slices.Min(y)
	high := scatterMost
	if across > 0 {
		high = min(scatterMost, max(scatterLeast, wide*up/across))
	}
	unit := max(across/wide, up/high) // of a coordinate, in one of the picture
	if !(unit > 0) {
		unit = 1 / high
	}
	unit *= 1 + 2*scatterPad
	span := func(list []float64, long float64) (lo, hi float64) {
		middle := slices.Min(list)/2 + slices.Max(list)/2
		return middle - long/2*unit, middle + long/2*unit
	}
	s.Height = scatterTop + high + marginBelow
	lo, hi := span(x, wide)
	s.X = axis.Linear(lo, hi, plain, 6, false).Between(marginLeft, chartWidth-marginRight)
	lo, hi = span(y, high)
	s.Y = axis.Linear(lo, hi, plain, max(2, int(math.Round(high/60))), false).Between(scatterTop+high, scatterTop)
}

// Below returns where a text stands that is so far below the plot.
func (s *scatter) Below(far float64) float64 { return s.Y.From + far }

// marks returns shapes at some of the points.
func (s *scatter) marks(some []int, x, y []float64, shape string) string {
	var b strings.Builder
	for _, i := range some {
		fmt.Fprintf(&b, "M%.1f %.1f%s", s.X.Place(x[i]), s.Y.Place(y[i]), shape)
	}
	return b.String()
}
