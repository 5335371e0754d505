package runfolder

import (
	"fmt"
	"time"

	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/tfevents"
	"capgnn/pipeline"
)

// Events appends the curves of a run to a TensorBoard event file in the run folder: loss and epoch_seconds at every
// epoch, METRIC/train, METRIC/val and METRIC/test where there was an evaluation, and of a run of several processes ranks/bytes and
// ranks/longest_wait_seconds. Steps are epochs, counted as in
// metrics.jsonl. Every start of a run makes a file of its own, which takes back the epochs that it repeats.
type Events struct {
	Dir    Dir
	Metric string           // accuracy or micro-f1
	w      *tfevents.Writer // nil before the first epoch
}

// MetricMulti is the metric of multi-label runs, as pipeline.Result.MetricName has it.
const MetricMulti = "micro-f1"

// MetricName returns what the scores of a problem are called.
func MetricName(p *learn.Problem) string {
	if p.Targets != nil {
		return MetricMulti
	}
	return "accuracy"
}

// Append writes the values of one epoch.
func (f *Events) Append(s pipeline.EpochStats) error {
	now := time.Now()
	if f.w == nil {
		w, err := tfevents.Create(string(f.Dir), now, int64(s.Epoch))
		if err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		f.w = w
	}
	values := []tfevents.Scalar{{Tag: "loss", Value: s.Loss}, {Tag: "epoch_seconds", Value: s.Train.Seconds()}}
	if s.Eval {
		for _, split := range []struct {
			name  string
			value *float64
		}{{"train", s.Metrics.Train}, {"val", s.Metrics.Val}, {"test", s.Metrics.Test}} {
			if split.value != nil {
				values = append(values, tfevents.Scalar{Tag: f.Metric + "/" + split.name, Value: *split.value})
			}
		}
		if s.ValLoss != nil {
			values = append(values, tfevents.Scalar{Tag: "val_loss", Value: *s.ValLoss})
		}
	}
	values = append(values, betweenRanks(s.Pairs)...)
	if err := f.w.Scalars(now, int64(s.Epoch), values); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// betweenRanks returns the scalars of a run of several processes: the bytes that they sent each other, and the longest that one of them waited
// for another; none where there is one process.
func betweenRanks(pairs []pipeline.RankPair) []tfevents.Scalar {
	if len(pairs) == 0 {
		return nil
	}
	bytes, wait := gpu.Bytes(0), time.Duration(0)
	for _, p := range pairs {
		bytes, wait = bytes+p.Frames, max(wait, p.Wait)
	}
	return []tfevents.Scalar{{Tag: "ranks/bytes", Value: float64(bytes)}, {Tag: "ranks/longest_wait_seconds", Value: wait.Seconds()}}
}

// Close closes the file, if there was an epoch.
func (f *Events) Close() error {
	if f.w == nil {
		return nil
	}
	return f.w.Close()
}
