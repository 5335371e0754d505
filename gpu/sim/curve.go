package sim

import (
	"cmp"
	"math"
	"slices"
)

// point is a measurement at x.
type point struct{ x, y float64 }

// curve is measurements by ascending x; between them y is a straight line over x, or over log x. Outside, it is the nearest.
type curve []point

func (c curve) sorted() curve {
	slices.SortFunc(c, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	return c
}

// log returns y at x, over log x.
func (c curve) log(x float64) float64 {
	for i := 1; i < len(c); i++ {
		if a, b := c[i-1], c[i]; x < b.x {
			if x <= a.x {
				return a.y
			}
			return a.y + (b.y-a.y)*math.Log(x/a.x)/math.Log(b.x/a.x)
		}
	}
	return c[len(c)-1].y
}

// line returns y at x on the straight line through the two nearest points, also outside of them.
func (c curve) line(x float64) float64 {
	if len(c) == 1 {
		return c[0].y
	}
	i := 1
	for i < len(c)-1 && x > c[i].x {
		i++
	}
	a, b := c[i-1], c[i]
	return a.y + (b.y-a.y)*(x-a.x)/(b.x-a.x)
}
