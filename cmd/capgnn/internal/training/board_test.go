package training

import (
	"testing"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/gpu"
	"capgnn/minibatch"
)

// The table shows which share of the rows of other parts the caches of a device's parts had.
func TestBoardOfSampledRun(t *testing.T) {
	b := newBoard(&Forecaster{Where: Where{Specs: make([]devices.Spec, 2)}})
	for range 2 {
		b.addSampled(&minibatch.EpochStats{Parts: make([]gpu.Usage, 3), Work: []minibatch.Counts{
			{Rows: minibatch.Rows{Read: 90, Local: 50, Hit: 30, Fetched: 10}}, {Rows: minibatch.Rows{Read: 7, Fetched: 7}}, {Rows: minibatch.Rows{Read: 40, Hit: 20, Fetched: 20}}}})
	}
	if got, want := b.rows[0].hits(), "62.5 %"; got != want { // parts 0 and 2
		t.Errorf("device 0: %s of the rows, want %s", got, want)
	}
	if got := b.rows[1].hits(); got != "-" {
		t.Errorf("device 1 without hits: %s", got)
	}
}
