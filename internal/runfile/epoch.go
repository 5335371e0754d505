package runfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Epoch is one line of metrics.jsonl. Embedded pointers are nil, and their keys left out, where nothing is known.
type Epoch struct {
	Epoch    int      `json:"epoch"`
	Loss     Loss     `json:"loss"`                // before the update; of sampled training a mean over roots
	LR       *float64 `json:"lr,omitempty"`        // left out of runs without a schedule
	GradNorm *Loss    `json:"grad_norm,omitempty"` // before clipping, mean over steps; left out of runs that do not clip
	*Scores           // of epochs that evaluated
	EpochS   float64  `json:"epoch_s"`
	EvalS    float64  `json:"eval_s"`
	ReduceS  *float64 `json:"reduce_s,omitempty"` // left out of sampled training
	DeviceS  Phases   `json:"device_s"`           // summed over the devices
	PartS    []Phases `json:"part_s,omitempty"`   // the same by part; left out of runs with one part or very many
	Bytes    Bytes    `json:"bytes"`
	SpMM     int64    `json:"spmm"` // stored entries × columns aggregated
	*Work             // of sampled training
	CPUS     float64  `json:"cpu_s"` // of the whole process, or of all ranks
	*HaloUse          // of full-batch training whose parts exchange rows
	// Of sampled training: time steps of each step (1, or as many as HopGNN has), and whose device computed longest.
	TimeSteps   int         `json:"time_steps,omitempty"`
	SlowestPart *int        `json:"slowest_part,omitempty"`
	PartWork    []PartWork  `json:"part_work,omitempty"`
	Pairs       []Pair      `json:"pairs,omitempty"`    // left out where there is one process, or there are very many
	Meters      []Metered   `json:"meters,omitempty"`   // since the last reading; left out where there was none
	Isolated    *SuperEpoch `json:"isolated,omitempty"` // left out of runs whose parts exchange rows
}

// Scores are there in epochs that evaluated; nil: the split is empty.
type Scores struct {
	Train     *float64 `json:"train"`
	Val       *float64 `json:"val"`
	Test      *float64 `json:"test"`
	ValLoss   *Loss    `json:"val_loss"` // after the update; nil also where it is not finite
	Estimated bool     `json:"estimated,omitempty"`
}

// Phases is the time of the devices' queues by phase.
type Phases struct {
	Aggregation float64 `json:"aggregation"`
	MM          float64 `json:"mm"`
	Wait        float64 `json:"communication_wait"`
	Transfer    float64 `json:"communication_transfer"`
	Reduce      float64 `json:"reduce"`
	Check       float64 `json:"check_cache"` // on the host: schedules and versions are looked up
	Pick        float64 `json:"pick_cache"`  // rows that others read are put together
	Other       float64 `json:"other"`
	Gradients   float64 `json:"gradients,omitempty"` // of transfer: gradients and weights; left out by part
}

// Bytes is all traffic by route, as the copy routines counted it, and what of it renewed cached rows, and what was
// gradients and weights. Host is traffic between host memories, which only a cache in host memory causes.
type Bytes struct {
	D2H       int64 `json:"d2h"`
	H2D       int64 `json:"h2d"`
	Peer      int64 `json:"peer"`
	Host      int64 `json:"host"`
	Refresh   int64 `json:"refresh"`
	Gradients int64 `json:"gradients,omitempty"`
	Carried   int64 `json:"carried,omitempty"` // with HopGNN's models: sums of gradients that they bring along
	// Of sampled training: rows of features that parts have fetched from each other, and the ids by which they ask.
	Rows int64 `json:"rows,omitempty"`
	IDs  int64 `json:"ids,omitempty"`
}

// HaloUse is what became of halo rows.
type HaloUse struct {
	Halo struct {
		D2H  int64 `json:"d2h"`
		H2D  int64 `json:"h2d"`
		Peer int64 `json:"peer"`
	} `json:"halo"` // bytes by route
	Cache     Cache     `json:"cache"`
	Staleness Staleness `json:"staleness"`
}

// Cache is what lookups of halo rows found, over all parts and exchanges.
type Cache struct {
	Policy     string  `json:"policy"`
	Lookups    int64   `json:"lookups"`
	Coverage   float64 `json:"coverage"`    // share of the lookups whose row has a slot
	LocalHits  int64   `json:"local_hits"`  // nothing moved
	GlobalHits int64   `json:"global_hits"` // read from the host's cache, without the owner sending in this epoch
	Misses     int64   `json:"misses"`      // all else, refreshes included
}

// Staleness is how old the rows were that training used, in epochs.
type Staleness struct {
	Bound   int            `json:"bound"`
	MaxSeen int            `json:"max_seen"`
	Mean    float64        `json:"mean_seen"`
	Period  map[string]int `json:"period"` // by layer, epochs between two refreshes of a row; 0: used in its own epoch
}

// Work is what steps of sampled training have done. Times are summed over parts.
type Work struct {
	Steps     int         `json:"steps"`
	Edges     int64       `json:"edges"`       // sampled, loops that the model adds not counted
	EdgesPerS float64     `json:"edges_per_s"` // of the wall time of training
	Rows      Rows        `json:"rows"`
	Requests  int64       `json:"requests"` // of rows: one for each step, part that reads and part that is asked
	TimeS     StepSeconds `json:"time_s"`
}

// Rows counts rows of features that steps read, each vertex once in a step of a part.
type Rows struct {
	Read      int64 `json:"read"`      // local + hit + fetched
	Local     int64 `json:"local"`     // of the part itself
	Hit       int64 `json:"hit"`       // of another part, in the part's cache
	Fetched   int64 `json:"fetched"`   // of another part, and come from there
	Evicted   int64 `json:"evicted"`   // left the cache
	Prefilled int64 `json:"prefilled"` // came to the cache in a step that did not read them
}

// StepSeconds is where the time of steps went. Sampling and staging run beside the rest.
type StepSeconds struct {
	Sample  float64 `json:"sample"`
	Decide  float64 `json:"decide"`
	Fetch   float64 `json:"fetch"`
	Stage   float64 `json:"stage"`
	Upload  float64 `json:"upload"`
	Compute float64 `json:"compute"`
	Wait    float64 `json:"wait"`
}

// PartWork is what one part did in the steps of an epoch.
type PartWork struct {
	Roots int64       `json:"roots"`
	Rows  Rows        `json:"rows"`
	TimeS StepSeconds `json:"time_s"`
}

// Pair is what one rank has sent another, in an epoch or in all.
type Pair struct {
	From   int     `json:"from"`
	To     int     `json:"to"`
	Rows   int64   `json:"rows"`   // halo rows or rows of features, what they are asked for with, gradients and weights
	Frames int64   `json:"frames"` // all that travelled: rows, headers and words of the transport
	WaitS  float64 `json:"wait_s"` // how long devices of To waited for From, mean over To's parts
}

// Metered is what a device, or a package of processors, has taken, whoever else used it; nil: not known.
type Metered struct {
	Rank       int      `json:"rank"` // 0 where there is one process
	Device     string   `json:"device"`
	Seconds    float64  `json:"s"`
	Joules     *float64 `json:"j"`
	Busy       *float64 `json:"busy,omitempty"` // share of the time in which a GPU computed
	MemoryBusy *float64 `json:"memory_busy,omitempty"`
}

// SuperEpoch is what isolated parts held in an epoch.
type SuperEpoch struct {
	Shift    int      `json:"shift"`  // part i held chunks i and (i + shift) mod c
	Phases   int      `json:"phases"` // of the epoch
	Coverage Coverage `json:"coverage"`
	// Switch is in the epochs before which every part got another chunk, and in those that have phases.
	Switch *Switch `json:"switch,omitempty"`
}

// Coverage says how much of their neighbourhoods the targets of all parts saw.
type Coverage struct {
	Mean  float64 `json:"mean"`  // over targets, of local over all in-neighbours
	Edges float64 `json:"edges"` // share of the targets' in-edges
	Alone int     `json:"alone"` // targets whose neighbours were all elsewhere
}

// Switch is what it took to bring chunks to parts, which is not in the epoch's time and bytes.
type Switch struct {
	S     float64 `json:"s"`
	Bytes int64   `json:"bytes"` // from the host to devices
}

// Loss is a loss as it stands in files: nine significant digits, which identify a float32; null where not finite.
type Loss float64

// MarshalJSON returns the number as printf's %.9g would, or null.
func (l Loss) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(l)) || math.IsInf(float64(l), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(l), 'g', 9, 64), nil
}

// UnmarshalJSON reads a number; null is NaN.
func (l *Loss) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*l = Loss(math.NaN())
		return nil
	}
	x, err := strconv.ParseFloat(string(data), 64)
	*l = Loss(x)
	return err
}

// maxLineBytes bounds a line of metrics.jsonl.
const maxLineBytes = 1 << 20

// ReadEpochs reads metrics.jsonl. A last line without an end, as a run leaves it that is under way or was killed, is
// left out.
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
