package runfolder

import (
	"errors"
	"fmt"
	"time"

	"capgnn/gpu"
	"capgnn/internal/tfevents"
	"capgnn/pipeline"
)

// Events appends the curves of a run to a TensorBoard event file in the run folder: loss and epoch_seconds at every
// epoch, with a schedule learning_rate, with clipping gradient_norm, METRIC/train, METRIC/val and METRIC/test where there was an evaluation, of a run of several processes ranks/bytes and
// ranks/longest_wait_seconds, and of sampled training sampling/edges_per_second, sampling/rows_read and sampling/rows_fetched. Steps are epochs, counted as in
// metrics.jsonl. Every start of a run makes a file of its own, which takes back the epochs that it repeats.
type Events struct {
	Dir    Dir
	Metric string                  // as in result.json
	Lost   func(path string) error // notes that the file is written again, unless the folder is another one
	w      *tfevents.Writer        // nil before the first epoch
}

// Append writes the values of one epoch.
func (f *Events) Append(s pipeline.EpochStats) error {
	more := betweenRanks(s.Pairs)
	if s.TimeSteps > 0 {
		more = append(more, stepsOf(&s)...)
	}
	now := time.Now()
	if f.w == nil {
		w, err := tfevents.Create(string(f.Dir), now, int64(s.Epoch))
		if err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		f.w = w
	}
	if err := f.keep(); err != nil {
		return err
	}
	values := []tfevents.Scalar{scalar("loss", s.Loss), scalar("epoch_seconds", s.Train.Seconds())}
	if s.Rate != nil {
		values = append(values, scalar("learning_rate", *s.Rate))
	}
	if s.GradNorm != nil {
		values = append(values, scalar("gradient_norm", *s.GradNorm))
	}
	if s.Eval {
		for _, split := range []struct {
			name  string
			value *float64
		}{{"train", s.Metrics.Train}, {"val", s.Metrics.Val}, {"test", s.Metrics.Test}} {
			if split.value != nil {
				values = append(values, scalar(f.Metric+"/"+split.name, *split.value))
			}
		}
		if s.Metrics.ValLoss != nil {
			values = append(values, scalar("val_loss", *s.Metrics.ValLoss))
		}
	}
	if err := f.w.Scalars(now, int64(s.Epoch), append(values, more...)); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

func scalar(tag string, value float64) tfevents.Scalar {
	return tfevents.Scalar{Tag: tag, Value: value}
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
	return []tfevents.Scalar{scalar("ranks/bytes", float64(bytes)), scalar("ranks/longest_wait_seconds", wait.Seconds())}
}

// keep writes a file that has lost its name again.
func (f *Events) keep() error {
	path := f.w.Lost()
	if path == "" {
		return nil
	}
	if err := f.Lost(path); err != nil {
		return err
	}
	if err := f.w.Again(); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// Close closes the file, if there was an epoch.
func (f *Events) Close() error {
	if f.w == nil {
		return nil
	}
	return errors.Join(f.keep(), f.w.Close())
}
