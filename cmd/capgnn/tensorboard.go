package main

import (
	"fmt"
	"time"

	"capgnn/internal/tfevents"
	"capgnn/pipeline"
)

// eventFile appends the curves of a run to a TensorBoard event file in the run folder: loss and epoch_seconds at every
// epoch, METRIC/train, METRIC/val and METRIC/test where there was an evaluation. Steps are epochs, counted as in
// metrics.jsonl. Every start of a run makes a file of its own, which takes back the epochs that it repeats.
type eventFile struct {
	dir    runDir
	metric string           // accuracy or micro-f1
	w      *tfevents.Writer // nil before the first epoch
}

// The metric of multi-label runs, as pipeline.Result.MetricName has it.
const metricMulti = "micro-f1"

// metricName returns what the scores of a problem are called.
func metricName(p *pipeline.Problem) string {
	if p.Targets != nil {
		return metricMulti
	}
	return "accuracy"
}

// append writes the values of one epoch.
func (f *eventFile) append(s pipeline.EpochStats) error {
	now := time.Now()
	if f.w == nil {
		w, err := tfevents.Create(string(f.dir), now, int64(s.Epoch))
		if err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		f.w = w
	}
	values := []tfevents.Scalar{{Tag: "loss", Value: s.Loss}, {Tag: "epoch_seconds", Value: seconds(s.Train)}}
	if s.Eval {
		for _, split := range []struct {
			name  string
			value *float64
		}{{"train", s.Metrics.Train}, {"val", s.Metrics.Val}, {"test", s.Metrics.Test}} {
			if split.value != nil {
				values = append(values, tfevents.Scalar{Tag: f.metric + "/" + split.name, Value: *split.value})
			}
		}
		if s.ValLoss != nil {
			values = append(values, tfevents.Scalar{Tag: "val_loss", Value: *s.ValLoss})
		}
	}
	if err := f.w.Scalars(now, int64(s.Epoch), values); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// close closes the file, if there was an epoch.
func (f *eventFile) close() error {
	if f.w == nil {
		return nil
	}
	return f.w.Close()
}
