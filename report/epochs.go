package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Epoch is one line of metrics.jsonl, as far as it is drawn.
type Epoch struct {
	Epoch int      `json:"epoch"`
	Loss  *float64 `json:"loss"`
	Train *float64 `json:"train"` // scores are there where the epoch evaluated
	Val   *float64 `json:"val"`
	Test  *float64 `json:"test"`
	// ValLoss is the loss of the validation vertices; nil: it was not computed.
	ValLoss  *float64 `json:"val_loss"`
	LR       *float64 `json:"lr"`        // of runs with a schedule
	GradNorm *float64 `json:"grad_norm"` // of runs that clip gradients
	EpochS   float64  `json:"epoch_s"`
	EvalS    float64  `json:"eval_s"`
	// DeviceS is the time of the devices' queues by phase, PartS the same for each part.
	DeviceS map[string]float64   `json:"device_s"`
	PartS   []map[string]float64 `json:"part_s"`
	Bytes   map[string]float64   `json:"bytes"`
	// What the caches did; nil: there are none. Cache has coverage (a share) and the counts local_hits, global_hits and misses of
	// the epoch; Staleness the ages bound, max_seen and mean_seen, and period, an object of numbers.
	Cache     object `json:"cache"`
	Staleness object `json:"staleness"`
	// What sampled training has besides: steps, sampled edges, rows of features by where they come from, and seconds by what becomes of a step.
	Steps       int                `json:"steps"`
	Edges       int64              `json:"edges"`
	EdgesPerS   float64            `json:"edges_per_s"`
	Rows        map[string]float64 `json:"rows"`
	TimeS       map[string]float64 `json:"time_s"`
	CPUS        float64            `json:"cpu_s"`
	SlowestPart int                `json:"slowest_part"`
	PartWork    []PartWork         `json:"part_work"` // the same by part; nil: there is one, or or there are many
	// Pairs is what ranks sent each other; nil: there was one process, or there were many ranks.
	Pairs []Pair `json:"pairs"`
	// Isolated is what isolated parts held; nil: parts exchanged rows.
	Isolated *SuperEpoch `json:"isolated"`
}

// PartWork is what one part did in the steps of an epoch.
type PartWork struct {
	Roots float64            `json:"roots"`
	Rows  map[string]float64 `json:"rows"`
	TimeS map[string]float64 `json:"time_s"`
}

// Pair is what one rank sent another.
type Pair struct {
	From   int     `json:"from"`
	To     int     `json:"to"`
	Rows   float64 `json:"rows"`   // bytes of halo rows, gradients and weights
	Frames float64 `json:"frames"` // bytes of all that travelled
	WaitS  float64 `json:"wait_s"` // how long devices of To waited for From
}

// maxLineBytes bounds a line of metrics.jsonl.
const maxLineBytes = 1 << 20

// ReadEpochs reads metrics.jsonl. A last line without an end, as a run that is under way or was killed leaves it, is left out.
func ReadEpochs(r io.Reader) ([]Epoch, error) {
	var epochs []Epoch
	for in, n := bufio.NewReaderSize(r, maxLineBytes), 1; ; n++ {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return epochs, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("line %d: longer than %d bytes: not a line of metrics", n, maxLineBytes)
		case err != nil:
			return nil, err
		}
		var e Epoch
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if len(epochs) > 0 && e.Epoch <= epochs[len(epochs)-1].Epoch {
			return nil, fmt.Errorf("line %d: epoch %d behind epoch %d", n, e.Epoch, epochs[len(epochs)-1].Epoch)
		}
		epochs = append(epochs, e)
	}
}

// or returns *x, NaN for nil.
func or(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}
