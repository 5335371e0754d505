package dataset

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"

	"capgnn/graph"
	"capgnn/graph/dataset/internal/check"
	"capgnn/internal/room"
)

// Values of Options.Features: those of the files, or features that are made of the graph, for which the files need none.
const (
	// FeaturesStored takes the features of the files.
	FeaturesStored = "stored"
	// FeaturesDegree gives a vertex a 1 in the column of its in-degree, loops not counted: degrees below 64 have a column each,
	// those from 2^k to 2^(k+1)-1 share one. The columns are the same for every graph.
	FeaturesDegree = "degree"
	// FeaturesOneHot gives vertex v a 1 in column v, and so a row of weights to each vertex.
	FeaturesOneHot = "onehot"
	// FeaturesRandom begins random:WIDTH: so many values per vertex, uniform with mean 0 and variance 1, a function of
	// Options.Seed, vertex and width.
	FeaturesRandom = "random"
)

const (
	exactDegrees  = 64                          // degrees with a column of their own
	degreeColumns = exactDegrees + 31 - 6       // and one for each further bit of an int32
	maxRandom     = 1 << 16                     // columns
	randomBlock   = 1 << 10                     // rows that are drawn from one stream
	randomStage   = uint64(0x66656174) << 32    // "feat": streams of their own beside those of splits
	randomRange   = float64(1.7320508075688772) // √3: uniform in [-√3, √3) has variance 1
)

// parseFeatures reads a value of Options.Features; width is that of random ones.
func parseFeatures(text string) (kind string, width int, err error) {
	switch text {
	case FeaturesStored:
		return FeaturesStored, 0, nil
	case FeaturesDegree, FeaturesOneHot:
		return text, 0, nil
	}
	number, random := strings.CutPrefix(text, FeaturesRandom+":")
	if width, err = strconv.Atoi(number); !random || err != nil || width < 1 || width > maxRandom {
		return "", 0, fmt.Errorf("features %.40q: want %s, %s, %s or %s:WIDTH, such as %s:64, with a width from 1 to %d",
			text, FeaturesStored, FeaturesDegree, FeaturesOneHot, FeaturesRandom, FeaturesRandom, maxRandom)
	}
	return FeaturesRandom, width, nil
}

// CheckFeatures reports what is wrong with a value of Options.Features.
func CheckFeatures(text string) error {
	_, _, err := parseFeatures(text)
	return err
}

// MakesFeatures reports whether features are made, in place of those of the files.
func (o Options) MakesFeatures() bool { return o.Features != "" && o.Features != FeaturesStored }

// MakeFeatures gives the graph the features that Options.Features says, which are not FeaturesStored.
func (d *Dataset) MakeFeatures(text string, seed uint64) error {
	kind, width, err := parseFeatures(text)
	if err != nil {
		return err
	}
	n := d.Graph.Rows()
	had := d.Features.Cols
	d.Features, d.Scaling, d.Standardised, d.finite = Features{}, nil, "", false
	switch kind {
	case FeaturesDegree:
		d.Features, err = oneColumn(n, degreeColumns, func(v int) int32 { return degreeColumn(loopless(d.Graph, v)) })
	case FeaturesOneHot:
		if n > check.MaxCols {
			return fmt.Errorf("has %d vertices; one-hot features are for at most %d: take degree or random:WIDTH", n, check.MaxCols)
		}
		d.Features, err = oneColumn(n, n, func(v int) int32 { return int32(v) })
	case FeaturesRandom:
		d.Features, err = randomFeatures(n, width, seed)
	}
	if err != nil {
		return fmt.Errorf("make %s features: %w", text, err)
	}
	d.ColumnNames = nil
	place := ""
	if had > 0 {
		place = fmt.Sprintf(", in place of the %d columns of the data set", had)
	}
	d.Note("--features %s: %d columns%s", text, d.Features.Cols, place)
	return nil
}

// oneColumn returns sparse features with a single 1 in every row.
func oneColumn(n, cols int, column func(v int) int32) (Features, error) {
	if err := room.For(16 * int64(n+1)); err != nil {
		return Features{}, err
	}
	f := Features{Cols: cols, Indptr: make([]int64, n+1), Indices: make([]int32, n), Data: make([]float32, n)}
	graph.EachBlock(n, check.Block, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			f.Indptr[v+1], f.Indices[v], f.Data[v] = int64(v)+1, column(v), 1
		}
	})
	return f, nil
}

// loopless returns the in-degree of a vertex without a loop.
func loopless(g *graph.CSR, v int) int {
	n := 0
	for _, u := range g.Row(v) {
		if int(u) != v {
			n++
		}
	}
	return n
}

// degreeColumn returns the column of a degree.
func degreeColumn(degree int) int32 {
	if degree < exactDegrees {
		return int32(degree)
	}
	return int32(exactDegrees + bits.Len32(uint32(degree)) - bits.Len32(exactDegrees))
}

// randomFeatures draws n rows. Method: PCG-DXSM, one stream for each block of rows; a value is made of the upper 24 bits of a
// draw, in steps that have one result on every machine.
func randomFeatures(n, width int, seed uint64) (Features, error) {
	if err := room.For(4 * int64(n) * int64(width)); err != nil {
		return Features{}, err
	}
	f := Features{Cols: width, Dense: make([]float32, n*width)}
	graph.EachBlock(n, randomBlock, func(lo, hi int) {
		r := rand.NewPCG(seed, randomStage|uint64(lo/randomBlock))
		for i := lo * width; i < hi*width; i++ {
			unit := float64(r.Uint64()>>40)*0x1p-23 - 1 // in [-1, 1), exact
			f.Dense[i] = float32(unit * randomRange)
		}
	})
	return f, nil
}
