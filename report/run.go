package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// Run is what is known of one run.
type Run struct {
	Name       string      // what it is called: its folder
	Result     *Result     // nil: it is not finished
	Epochs     []Epoch     // ascending
	Planned    int         // epochs that were asked for
	Settings   []Setting   // in the order of config.yaml
	Partition  *Partition  // nil: one part, or not known
	Components *Components // nil: nobody has computed them
	Trace      *Trace      // nil: none was recorded
	Repeat     []Step      // how to repeat it and what to do with it
}

// Setting is one line of config.yaml.
type Setting struct {
	Name, Value, Default string
	Recorded             bool // the run wrote it down: no choice of the user
}

// Step is a command line and what it does.
type Step struct {
	What, Command string
}

// Words are the pieces of the command between blanks. A page does not break a line inside one that fits on it: --hidden would be torn behind its dashes.
func (s Step) Words() []string { return strings.Split(s.Command, " ") }

// Partition is how the graph was cut.
type Partition struct {
	Parts   []Part
	EdgeCut int64       // pairs of vertices that are joined and lie in different parts
	Moved   int64       // vertices that left the partitioner's part to balance the devices
	Pruned  int64       // in-edges left out of training
	Trace   [][]float64 // cost of every part, after each step of balancing them; nil: they were not balanced
	Cost    string      // what the costs of Trace are: "λ", "s" (of an epoch), or "": not known
	Stop    string      // why balancing ended
}

// Part is one part of a Partition.
type Part struct {
	Device string
	Inner  int64 // vertices
	Halo   int64 // remote vertices that are read
	Edges  int64 // in-edges of inner vertices, without those left out
	Cut    int64 // those of Edges that begin in another part
	Train  int64 // training vertices
}

// Result is result.json, the object that `train --json` prints, as far as it is drawn.
type Result struct {
	Dataset   string   `json:"dataset"`
	Model     string   `json:"model"`
	Devices   []string `json:"devices"`
	Simulated bool     `json:"simulated"`
	Parts     int      `json:"parts"`
	Order     string   `json:"order"`
	Storage   string   `json:"storage"`
	Epochs    int      `json:"epochs"`
	Seed      uint64   `json:"seed"`
	FinalLoss *float64 `json:"final_loss"`
	Train     *float64 `json:"train"` // at BestEpoch
	Val       *float64 `json:"val"`
	Test      *float64 `json:"test"`
	TestLast  *float64 `json:"test_last"`
	BestEpoch *int     `json:"best_epoch"`
	Metric    string   `json:"metric"`
	Estimated bool     `json:"estimated"`   // scores are of samples of neighbours
	Positive  string   `json:"positive"`    // class of which Metric is, of two
	Several   bool     `json:"multi_label"` // by another metric than micro-f1
	Classes   []string `json:"class_names"`
	// How the test set was predicted at BestEpoch; nil: not known.
	ByClass   []ClassScore `json:"test_by_class"`
	Confusion *Confusion   `json:"test_confusion"`
	Data      *Data        `json:"data"` // nil: not known
	EpochS    struct {
		Median *float64 `json:"median"`
		Mean   *float64 `json:"mean"`
		Min    *float64 `json:"min"`
	} `json:"epoch_s"`
	TimeS     map[string]float64 `json:"time_s"`
	Bytes     map[string]float64 `json:"bytes"`
	HaloRows  int64              `json:"halo_rows"`
	HaloPairs [][]float64        `json:"halo_pairs"`
	Hosts     []string           `json:"hosts"` // by rank; nil: one process
	PeakBytes struct {
		Host    float64   `json:"host"`
		Devices []float64 `json:"devices"`
	} `json:"peak_bytes"`
	SHA256    string `json:"weights_sha256"`
	Build     build  `json:"build"`
	Cache     object `json:"cache"`
	Staleness object `json:"staleness"`
	Isolated  object `json:"isolated"`
	// Meters is what devices took; nil: there are no meters.
	Meters []Metered `json:"meters"`
}

// build says which program trained.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// object is a part of a file whose keys are looked up where they are drawn.
type object map[string]any

// number returns the number under a key, NaN where there is none.
func (o object) number(key string) float64 {
	if x, ok := o[key].(float64); ok {
		return x
	}
	return math.NaN()
}

// UnmarshalJSON reads an object; anything else is an empty one.
func (o *object) UnmarshalJSON(data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	*o, _ = value.(map[string]any)
	return nil
}

// maxResultBytes bounds result.json.
const maxResultBytes = 1 << 20

// ReadResult reads result.json.
func ReadResult(r io.Reader) (*Result, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxResultBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxResultBytes {
		return nil, fmt.Errorf("larger than %d bytes: not a result", maxResultBytes)
	}
	result := new(Result)
	if err := json.Unmarshal(data, result); err != nil {
		return nil, err
	}
	return result, nil
}
