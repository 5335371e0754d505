package report

import (
	"slices"
	"testing"

	"capgnn/internal/runfile"
)

// The learning rate is drawn where a schedule changed it, the norm of gradients where they were clipped.
func TestRateAndNorm(t *testing.T) {
	r := sampleRun(t, 10, false)
	if p := pageOf(t, r); p.figures["learning-rate"].text != "" || p.figures["gradient-norm"].text != "" {
		t.Error("a run without a schedule that does not clip has rate and norm")
	}
	var rates, norms []float64
	for k := range r.Epochs {
		rate, norm := 0.01/float64(k+1), 3.5+float64(k%3)
		r.Epochs[k].LR, r.Epochs[k].GradNorm = &rate, (*runfile.Loss)(&norm)
		rates, norms = append(rates, rate), append(norms, norm)
	}
	p := pageOf(t, r)
	if got := p.chart(t, "learning-rate").Series; len(got) != 1 || !slices.Equal(got[0].Y, rates) {
		t.Errorf("rates %v, want %v", got, rates)
	}
	if got := p.chart(t, "gradient-norm").Series; len(got) != 1 || !slices.Equal(got[0].Y, norms) {
		t.Errorf("norms %v, want %v", got, norms)
	}
	constant := 0.01
	for k := range r.Epochs {
		r.Epochs[k].LR = &constant
	}
	if p := pageOf(t, r); p.figures["learning-rate"].text != "" || p.figures["gradient-norm"].text == "" {
		t.Error("a constant rate is drawn, or the norm is not")
	}
}
