package learn

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
)

// plain reports whether nothing is weighed.
func (l *Labels) plain() bool { return l.Weights == nil && l.Smoothing == 0 }

// check reports what is wrong with the weights for data of so many classes, multi-label or not.
func (l *Labels) check(classes int, multi bool) error {
	var errs []error
	if multi && !l.plain() {
		errs = append(errs, errors.New("class weights and label smoothing are for one label per vertex"))
	}
	if l.Weights != nil && len(l.Weights) != classes {
		errs = append(errs, fmt.Errorf("%d class weights for %d classes", len(l.Weights), classes))
	}
	for class, w := range l.Weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			errs = append(errs, fmt.Errorf("class %d: weight %g is not a number of 0 or more", class, w))
		}
	}
	if !(l.Smoothing >= 0 && l.Smoothing < 1) {
		errs = append(errs, fmt.Errorf("label smoothing %g is not in [0, 1)", l.Smoothing))
	}
	return errors.Join(errs...)
}

// weight returns the weight of a class.
func (l *Labels) weight(class int32) float64 {
	if l.Weights == nil {
		return 1
	}
	return l.Weights[class]
}

// Total returns Σ w[y] over vertices, of which count[c] have class c. It adds in the order of classes, so
// the sum does not depend on how vertices are divided.
func (l *Labels) Total(count []int) (sum float64) {
	for class, n := range count {
		sum += l.weight(int32(class)) * float64(n)
	}
	return sum
}

// spread returns s/C·w[c] by class, and its sum.
func (l *Labels) spread(classes int) (to []float64, sum float64) {
	to = make([]float64, classes)
	for j := range to {
		to[j] = l.Smoothing / float64(classes) * l.weight(int32(j))
		sum += to[j]
	}
	return to, sum
}

// summedRows is how many rows are summed up at a time.
const summedRows = 1 << 10

// sum returns Σ l of the rows with labels[i] ≥ 0. logits is row-major. A label beyond the classes makes it infinite.
// Blocks of rows are added in their order, so that the sum does not depend on how many run at a time.
func (l *Labels) sum(logits []float32, classes int, labels []int32) float64 {
	spread, all := l.spread(classes)
	sums := make([]float64, (len(labels)+summedRows-1)/summedRows)
	var wait sync.WaitGroup
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	for b := range sums {
		room <- struct{}{}
		wait.Go(func() { // ends before Sum does
			defer func() { <-room }()
			for i := b * summedRows; i < min(len(labels), (b+1)*summedRows); i++ {
				if labels[i] >= 0 {
					sums[b] += l.row(logits[i*classes:][:classes], int(labels[i]), spread, all)
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
func (l *Labels) row(z []float32, y int, spread []float64, all float64) float64 {
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
	own := (1 - l.Smoothing) * l.weight(int32(y))
	loss := own * (lse - float64(z[y]))
	if all > 0 {
		for j, s := range spread {
			loss += s * (lse - float64(z[j]))
		}
	}
	return loss
}
