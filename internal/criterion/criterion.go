package criterion

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
)

// Criterion says how the cross-entropy of vertices with one label is weighted and smoothed, as torch.nn.CrossEntropyLoss(weight, label_smoothing) does. With the weights w, the
// smoothing s, C classes and p = softmax(logits) the loss of a vertex of class y is
//
//	l = −(1 − s)·w[y]·log p[y] − s/C·Σ_c w[c]·log p[c]
//
// and that of a set Σ l / Σ w[y]. The zero value is the plain cross-entropy.
type Criterion struct {
	Weights   []float64 // by class, ≥ 0; nil: 1
	Smoothing float64   // share of each target that is spread over all classes, [0, 1)
}

// Plain reports whether nothing is weighed.
func (c *Criterion) Plain() bool { return c.Weights == nil && c.Smoothing == 0 }

// Check reports what is wrong with c for data of so many classes, multi-label or not.
func (c *Criterion) Check(classes int, multi bool) error {
	var errs []error
	if multi && !c.Plain() {
		errs = append(errs, errors.New("class weights and label smoothing are for one label per vertex"))
	}
	if c.Weights != nil && len(c.Weights) != classes {
		errs = append(errs, fmt.Errorf("%d class weights for %d classes", len(c.Weights), classes))
	}
	for class, w := range c.Weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			errs = append(errs, fmt.Errorf("class %d: weight %g is not a number of 0 or more", class, w))
		}
	}
	if !(c.Smoothing >= 0 && c.Smoothing < 1) {
		errs = append(errs, fmt.Errorf("label smoothing %g is not in [0, 1)", c.Smoothing))
	}
	return errors.Join(errs...)
}

// Of returns the weight of a class.
func (c *Criterion) Of(class int32) float64 {
	if c.Weights == nil {
		return 1
	}
	return c.Weights[class]
}

// Total returns Σ w[y] over vertices, of which count[c] have class c. It adds in the order of classes, so the sum does not depend on how vertices are divided.
func (c *Criterion) Total(count []int) (sum float64) {
	for class, n := range count {
		sum += c.Of(int32(class)) * float64(n)
	}
	return sum
}

// spread returns s/C·w[c] by class, and its sum.
func (c *Criterion) spread(classes int) (to []float64, sum float64) {
	to = make([]float64, classes)
	for j := range to {
		to[j] = c.Smoothing / float64(classes) * c.Of(int32(j))
		sum += to[j]
	}
	return to, sum
}

// criterionRows is how many rows are summed up at a time.
const criterionRows = 1 << 10

// Sum returns Σ l of the rows with labels[i] ≥ 0. logits is row-major. A label beyond the classes makes it infinite. Blocks of rows are added in their order, so
// that the sum does not depend on how many run at a time.
func (c *Criterion) Sum(logits []float32, classes int, labels []int32) float64 {
	spread, all := c.spread(classes)
	sums := make([]float64, (len(labels)+criterionRows-1)/criterionRows)
	var wait sync.WaitGroup
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	for b := range sums {
		room <- struct{}{}
		wait.Go(func() { // ends before Sum does
			defer func() { <-room }()
			for i := b * criterionRows; i < min(len(labels), (b+1)*criterionRows); i++ {
				if labels[i] >= 0 {
					sums[b] += c.row(logits[i*classes:][:classes], int(labels[i]), spread, all)
				}
			}
		})
	}
	wait.Wait()
	sum := 0.0
	for _, s := range sums {
		sum += s
	}
	return sum
}

// row returns l of one row.
func (c *Criterion) row(z []float32, y int, spread []float64, all float64) float64 {
	if y >= len(z) {
		return math.Inf(1)
	}
	top := z[0]
	for _, x := range z {
		top = max(top, x)
	}
	sum := 0.0
	for _, x := range z {
		sum += math.Exp(float64(x) - float64(top))
	}
	lse := math.Log(sum) + float64(top)
	own := (1 - c.Smoothing) * c.Of(int32(y))
	l := own * (lse - float64(z[y]))
	if all > 0 {
		for j, s := range spread {
			l += s * (lse - float64(z[j]))
		}
	}
	return l
}
