package report

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// The picture of the pairs holds the numbers of result.json, says them of the right parts, and is darkest where most is read.
func TestPairMatrix(t *testing.T) {
	p := pageOf(t, sampleRun(t, 4, false))
	var rows [][]float64
	if err := json.Unmarshal(p.figures["part-pairs"].data, &rows); err != nil || len(rows) != 2 || !slices.Equal(rows[0], []float64{0, 100}) || !slices.Equal(rows[1], []float64{154, 0}) {
		t.Fatalf("%v, %v", rows, err)
	}
	for _, want := range []string{"part 0 reads 100 of part 1", "part 1 reads 154 of part 0", ">154</text>"} {
		if !strings.Contains(p.figures["part-pairs"].text, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	m := matrixOf(matrix{}, count, [][]float64{{0, 1, 2}, {4, 0, 1}, {0, 3, 0}})
	for i, c := range m.Cells {
		want := []float64{0, 1, 2, 4, 0, 1, 0, 3, 0}[i] / 4 * m.Cells[3].Opacity
		if math.Abs(c.Opacity-want) > 1e-12 || c.X+c.Size > chartWidth || c.Y+c.Size > m.Height {
			t.Errorf("cell %d: %+v, want opacity %v inside %v × %v", i, c, want, chartWidth, m.Height)
		}
	}
	for n := 2; n <= maxPartBars; n++ {
		rows := make([][]float64, n)
		for i := range rows {
			rows[i] = slices.Repeat([]float64{12345}, n)
		}
		m := matrixOf(matrix{}, count, rows)
		if last := m.Cells[len(m.Cells)-1]; last.X+last.Size > chartWidth || last.Y+last.Size > m.Height {
			t.Errorf("%d parts: last cell %+v of %v × %v", n, last, chartWidth, m.Height)
		}
	}
	for name, rows := range map[string][][]float64{
		"none": nil, "one part": {{0}}, "no square": {{0, 1}}, "ragged": {{0, 1}, {1}}, "nothing read": {{0, 0}, {0, 0}},
		"negative": {{0, -1}, {1, 0}}, "no number": {{0, math.NaN()}, {1, 0}}, "too many": slices.Repeat([][]float64{slices.Repeat([]float64{1}, 65)}, 65),
	} {
		if matrixOf(matrix{}, count, rows) != nil {
			t.Errorf("%s: it was drawn", name)
		}
	}
}
