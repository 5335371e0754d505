package prediction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph"
	"capgnn/internal/atomicfile"
	"capgnn/pipeline"
)

// pcaPoints is the largest number of vertices of which components are computed, and drawn by reports.
const pcaPoints = 2000

// pcaLargest is the largest number of a row that is used: squares of larger ones, summed up, leave float32.
const pcaLargest = 1e18

// components are hidden rows (logits of a model with one layer) of some vertices along their first two principal components: the file that reports draw.
type components struct {
	Dataset  string         `json:"dataset"`
	Weights  string         `json:"weights"`  // file
	Epoch    *int           `json:"epoch"`    // of the best weights; null: not known, or other weights
	Layer    *int           `json:"layer"`    // hidden, from 0; null: logits
	Vertices int            `json:"vertices"` // of the data set
	LeftOut  int            `json:"left_out"` // of the sample, because their rows have numbers that are not finite or beyond pcaLargest
	Variance [2]float64     `json:"variance"` // shares of the sample's
	Several  bool           `json:"multi_label"`
	Vertex   []graph.NodeID `json:"vertex"` // ascending
	X        []float32      `json:"x"`
	Y        []float32      `json:"y"`
	Class    []int32        `json:"class"` // label, -1: none; null: no vertex has one, or vertices have several
}

// sampleOf returns so many of n vertices, all if there are no more, ascending: a function of the seed.
func sampleOf(n, many int, seed uint64) []graph.NodeID {
	if n <= many {
		all := make([]graph.NodeID, n)
		for v := range all {
			all[v] = graph.NodeID(v)
		}
		return all
	}
	draw := rand.New(rand.NewPCG(seed, 0))
	chosen := make(map[graph.NodeID]bool, many) // Floyd's sampling without replacement
	for top := n - many; top < n; top++ {
		v := graph.NodeID(draw.IntN(top + 1))
		if chosen[v] {
			v = graph.NodeID(top)
		}
		chosen[v] = true
	}
	sample := make([]graph.NodeID, 0, many)
	for v := range chosen {
		sample = append(sample, v)
	}
	slices.Sort(sample)
	return sample
}

// components predicts the rows of a sample and projects them. Of several ranks rank 0 has the result, the others nil.
func (p *Prediction) components(ctx context.Context) (*components, error) {
	n := p.Data.Problem.Vertices()
	sample := sampleOf(n, pcaPoints, p.Config.Seed)
	var rows [][]float64
	err := pipeline.PredictRows(ctx, p.Data.Problem, p.options(), func(ids []graph.NodeID, values []float32) error {
		if rows == nil {
			rows = make([][]float64, len(sample))
		}
		width := len(values) / max(1, len(ids))
		for i, v := range ids {
			if k, ok := slices.BinarySearch(sample, v); ok {
				for _, x := range values[i*width:][:width] {
					rows[k] = append(rows[k], float64(x))
				}
			}
		}
		return nil
	})
	if err != nil || rows == nil {
		return nil, err
	}
	c := &components{Dataset: p.Data.Name, Weights: filepath.Base(p.Weights), Vertices: n, Several: p.multi}
	if p.Layer >= 0 {
		c.Layer = &p.Layer
	}
	if r := p.result; r != nil && p.Weights == p.Folder.Best() {
		c.Epoch = r.BestEpoch
	}
	var finite [][]float64
	for k, v := range sample {
		if slices.ContainsFunc(rows[k], func(x float64) bool { return !(math.Abs(x) <= pcaLargest) }) {
			c.LeftOut++
			continue
		}
		finite, c.Vertex = append(finite, rows[k]), append(c.Vertex, v)
		if p.labels != nil {
			c.Class = append(c.Class, p.labels[v])
		}
	}
	c.X, c.Y, c.Variance, err = project(finite)
	return c, term.AsUsage(err)
}

// note says how many vertices of the sample are left out; "": none is.
func (c *components) note() string {
	if c.LeftOut == 0 {
		return ""
	}
	return fmt.Sprintf("note: %s of %s are left out: their rows have a NaN, or a number that is infinite or beyond %g",
		term.Grouped(c.LeftOut), term.Counted(c.LeftOut+len(c.Vertex), "vertex"), pcaLargest)
}

// project returns rows along their first two principal components, and the shares of the variance that these have. Directions are such that
// the largest of their coordinates is positive, of equals the first. Of rows of one column the second component is 0.
func project(rows [][]float64) (x, y []float32, shares [2]float64, err error) {
	if len(rows) < 2 {
		return nil, nil, shares, errors.New("--what pca needs the rows of two vertices or more, with finite numbers")
	}
	n, width := len(rows), len(rows[0])
	m := mat.NewDense(n, width, slices.Concat(rows...))
	for j := range width { // differences of large numbers are small ones
		mean := stat.Mean(mat.Col(nil, j, m), nil)
		for i := range n {
			m.Set(i, j, m.At(i, j)-mean)
		}
	}
	var pc stat.PC
	if !pc.PrincipalComponents(m, nil) {
		return nil, nil, shares, errors.New("--what pca: the singular values of the rows could not be computed")
	}
	variances, directions := pc.VarsTo(nil), new(mat.Dense)
	pc.VectorsTo(directions)
	total := 0.0
	for _, v := range variances {
		total += v
	}
	if !(total > 0) {
		return nil, nil, shares, errors.New("--what pca: the rows of all vertices are equal, so there is nothing to draw")
	}
	out := [2][]float32{make([]float32, n), make([]float32, n)}
	for k := range min(2, len(variances)) {
		shares[k] = variances[k] / total
		direction := mat.Col(nil, k, directions)
		most := 0.0
		for _, d := range direction {
			if math.Abs(d) > math.Abs(most) {
				most = d
			}
		}
		along := mat.NewVecDense(n, nil)
		along.MulVec(m, mat.NewVecDense(width, direction))
		for i := range n {
			out[k][i] = float32(math.Copysign(1, most) * along.AtVec(i))
		}
	}
	return out[0], out[1], shares, nil
}

// size returns how many points there are, and how many components.
func (c *components) size() (rows, cols int) { return len(c.Vertex), 2 }

// write writes the file.
func (c *components) write(path string) error {
	return atomicfile.Write(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(c) })
}
