package prediction

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"capgnn/graph"
)

// powerIteration returns the coordinates of rows along the principal components, one after the other, and the variances of all: plain loops over the
// covariance, whose largest direction is found by multiplying again and again, and then taken away.
func powerIteration(rows [][]float64) (along [][]float64, variances []float64) {
	n, width := len(rows), len(rows[0])
	centred := make([][]float64, n)
	for i := range centred {
		centred[i] = slices.Clone(rows[i])
	}
	cov := make([][]float64, width)
	for a := range width {
		mean := 0.0
		for i := range n {
			mean += rows[i][a] / float64(n)
		}
		for i := range n {
			centred[i][a] -= mean
		}
		cov[a] = make([]float64, width)
	}
	for a := range width {
		for b := range width {
			for i := range n {
				cov[a][b] += centred[i][a] * centred[i][b] / float64(n-1)
			}
		}
	}
	for k := range width {
		v := make([]float64, width)
		for a := range v {
			v[a] = 1 + float64((a*7+k*3)%5)
		}
		value := 0.0
		for range 20000 {
			next, norm := make([]float64, width), 0.0
			for a := range width {
				for b := range width {
					next[a] += cov[a][b] * v[b]
				}
				norm += next[a] * next[a]
			}
			if value = math.Sqrt(norm); value == 0 {
				break
			}
			for a := range next {
				v[a] = next[a] / value
			}
		}
		variances = append(variances, value)
		coordinate := make([]float64, n)
		for i := range n {
			for a := range width {
				coordinate[i] += centred[i][a] * v[a]
			}
		}
		along = append(along, coordinate)
		for a := range width {
			for b := range width {
				cov[a][b] -= value * v[a] * v[b]
			}
		}
	}
	return along, variances
}

// agree checks coordinates against others of either sign.
func agree(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	most, plus, minus := 0.0, 0.0, 0.0
	for i, x := range want {
		most = max(most, math.Abs(x))
		plus, minus = max(plus, math.Abs(float64(got[i])-x)), max(minus, math.Abs(float64(got[i])+x))
	}
	if len(got) != len(want) || min(plus, minus) > 1e-6*most {
		t.Errorf("%s: off by %g of %g", what, min(plus, minus), most)
	}
}

// Components are those that power iteration finds, with fewer rows than columns too, and far from the origin.
func TestProject(t *testing.T) {
	for _, c := range []struct {
		n, width int
		far      float64
	}{{50, 2, 0}, {200, 7, 1e4}, {5, 12, 3}, {3, 2, -1}} {
		draw := rand.New(rand.NewPCG(uint64(c.n), 1))
		rows := make([][]float64, c.n)
		for i := range rows {
			for j := range c.width {
				rows[i] = append(rows[i], c.far+draw.NormFloat64()*math.Pow(0.5, float64(j)))
			}
		}
		x, y, shares, err := project(rows)
		if err != nil {
			t.Fatal(err)
		}
		want, variances := powerIteration(rows)
		agree(t, "first", x, want[0])
		agree(t, "second", y, want[1])
		total := 0.0
		for _, v := range variances {
			total += v
		}
		for k, got := range shares {
			if math.Abs(got-variances[k]/total) > 1e-9 {
				t.Errorf("%+v: share %d is %v, want %v", c, k, got, variances[k]/total)
			}
		}
	}
}

// A known one: points on a line, and a small step aside. Directions have a fixed sign.
func TestProjectKnown(t *testing.T) {
	x, y, shares, err := project([][]float64{{3, 4}, {-3, -4}, {0.8, -0.6}, {-0.8, 0.6}})
	want := [2][]float32{{5, -5, 0, 0}, {0, 0, 1, -1}}
	for i := range 4 {
		if err != nil || math.Abs(float64(x[i]-want[0][i])) > 1e-6 || math.Abs(float64(y[i]-want[1][i])) > 1e-6 {
			t.Fatalf("%v, %v, %v", x, y, err)
		}
	}
	if math.Abs(shares[0]-50.0/52) > 1e-12 || math.Abs(shares[1]-2.0/52) > 1e-12 {
		t.Errorf("shares %v", shares)
	}
	x, y, shares, err = project([][]float64{{1}, {3}})
	if err != nil || !slices.Equal(x, []float32{-1, 1}) || !slices.Equal(y, []float32{0, 0}) || shares != [2]float64{1, 0} {
		t.Errorf("one column: %v %v %v %v", x, y, shares, err)
	}
	for _, rows := range [][][]float64{nil, {{1, 2}}, {{1, 2}, {1, 2}, {1, 2}}} {
		if _, _, _, err := project(rows); err == nil || !strings.Contains(err.Error(), "--what pca") {
			t.Errorf("%v: %v", rows, err)
		}
	}
}

// A sample is a function of the seed, without repetition, and every vertex comes as often as any other.
func TestSampleOf(t *testing.T) {
	if got := sampleOf(3, 3, 1); !slices.Equal(got, []graph.NodeID{0, 1, 2}) {
		t.Errorf("all: %v", got)
	}
	if len(sampleOf(0, 3, 1)) != 0 || slices.Equal(sampleOf(1000, 20, 1), sampleOf(1000, 20, 2)) || !slices.Equal(sampleOf(1000, 20, 1), sampleOf(1000, 20, 1)) {
		t.Error("seeds")
	}
	const draws = 4000
	times := make([]float64, 40)
	for seed := range uint64(draws) {
		s := sampleOf(len(times), 10, seed)
		if len(slices.Compact(slices.Clone(s))) != 10 || !slices.IsSorted(s) {
			t.Fatalf("sample %v", s)
		}
		for _, v := range s {
			times[v]++
		}
	}
	want := draws * 10.0 / float64(len(times))
	for v, n := range times {
		if math.Abs(n-want) > 5*math.Sqrt(want) {
			t.Errorf("vertex %d comes %v times, want about %v", v, n, want)
		}
	}
}
