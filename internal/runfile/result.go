package runfile

import (
	"encoding/json"
	"fmt"
	"io"
)

// Result is the object that `train --json` prints as its last line and that result.json holds.
type Result struct {
	Dataset   string   `json:"dataset"`
	Model     string   `json:"model"`
	Devices   []string `json:"devices"`   // specs with everything said, in the order of --devices
	Simulated bool     `json:"simulated"` // times are of a clock of simulated devices
	Parts     int      `json:"parts"`
	Order     string   `json:"order"`
	Storage   string   `json:"storage"`
	Epochs    int      `json:"epochs"` // done, resumed ones included
	Seed      uint64   `json:"seed"`
	FinalLoss Loss     `json:"final_loss"` // of the last epoch, before its update
	Train     *float64 `json:"train"`      // at best_epoch; nil: the split is empty
	Val       *float64 `json:"val"`
	Test      *float64 `json:"test"`
	TestLast  *float64 `json:"test_last"`
	BestEpoch *int     `json:"best_epoch"` // from 0 on
	Metric    string   `json:"metric"`
	Estimated bool     `json:"estimated,omitempty"`   // scores are of samples of neighbours
	Positive  string   `json:"positive,omitempty"`    // class of which Metric is, of two
	Several   bool     `json:"multi_label,omitempty"` // several labels each, by another metric than micro-f1
	Classes   []string `json:"class_names"`           // nil: only their numbers are known
	// How the test split was predicted at best_epoch; left out where it is empty, or there are too many classes.
	ByClass   []ClassScore `json:"test_by_class,omitempty"`
	Confusion *Confusion   `json:"test_confusion,omitempty"` // left out of multi-label data
	Data      *Data        `json:"data,omitempty"`           // left out where the data set is in shards
	EpochS    EpochSeconds `json:"epoch_s"`
	TimeS     RunSeconds   `json:"time_s"`
	Bytes     Bytes        `json:"bytes"`
	Cache     RunCache     `json:"cache"`
	Staleness RunStaleness `json:"staleness"`
	HaloRows  int64        `json:"halo_rows"`
	HaloPairs [][]int64    `json:"halo_pairs"`         // [i][j]: rows of part j that part i reads; nil: too many
	Hosts     []string     `json:"hosts,omitempty"`    // by rank; left out where there was one process
	Pairs     []Pair       `json:"pairs,omitempty"`    // between ranks, over all epochs
	Isolated  *Isolated    `json:"isolated,omitempty"` // left out of runs whose parts exchange rows
	Sampling  *Sampling    `json:"sampling,omitempty"` // left out of full-batch runs
	Meters    []Metered    `json:"meters,omitempty"`   // over all epochs; left out where there are no meters
	PeakBytes PeakBytes    `json:"peak_bytes"`
	SHA256    string       `json:"weights_sha256"`
	RunDir    string       `json:"run_dir"`
	Build     Build        `json:"build"` // of the program that trained
}

// ClassScore has the scores of a class in the test split.
type ClassScore struct {
	Class     int      `json:"class"`
	Support   int      `json:"support"` // vertices
	Precision *float64 `json:"precision"`
	Recall    *float64 `json:"recall"`
	F1        *float64 `json:"f1"`
}

// Confusion is how many test vertices of one class were predicted to be of another, of the largest classes.
type Confusion struct {
	Classes []int   `json:"classes"`
	Counts  [][]int `json:"counts"` // [i][j]: vertices of Classes[i] predicted to be of Classes[j]
}

// Data is what the data set looks like.
type Data struct {
	Degrees []int            `json:"in_degrees"`            // vertices with 0, 1, 2–3, 4–7, … in-neighbours
	Classes map[string][]int `json:"class_sizes,omitempty"` // by split and "none": vertices by class; left out of very many
}

// EpochSeconds is the wall time of epochs without their evaluation; nil: there was no epoch.
type EpochSeconds struct {
	Median *float64 `json:"median"`
	Mean   *float64 `json:"mean"`
	Min    *float64 `json:"min"`
}

// RunSeconds is where the time of all epochs went. Phases of the queues are means over the parts; reduce (gradient
// reduction, optimiser step, broadcast) and eval are wall time.
type RunSeconds struct {
	Start       float64 `json:"start"` // from the start of the program to the first epoch
	Aggregation float64 `json:"aggregation"`
	MM          float64 `json:"mm"`
	Wait        float64 `json:"communication_wait"`
	Transfer    float64 `json:"communication_transfer"`
	Reduce      float64 `json:"reduce"`
	Eval        float64 `json:"eval"`
	CPU         float64 `json:"cpu"`         // processor time of training, of all processes
	Check       float64 `json:"check_cache"` // on the host: schedules and versions are looked up
	Pick        float64 `json:"pick_cache"`  // rows that others read are put together
	Other       float64 `json:"other"`
	Order       float64 `json:"order"` // finding and measuring the order of the vertices, once per data set
}

// RunCache is what lookups found in all epochs, with the sizes of the caches; nil: there were none.
type RunCache struct {
	Cache
	Capacity *Capacity `json:"capacity"`
}

// Capacity is the sizes of the caches, in rows of an exchange.
type Capacity struct {
	Local       []int `json:"local"` // by part
	Global      int   `json:"global"`
	LocalUnion  []int `json:"union_local"` // rows that a part could keep
	GlobalUnion int   `json:"union_global"`
	SlotBytes   int64 `json:"slot_bytes"` // of a row in all exchanges, on a device
}

// RunStaleness is how old the rows were that a run used, and why.
type RunStaleness struct {
	Staleness
	Forecast *StaleForecast `json:"forecast"` // by which layers were chosen; nil: none, or before the run was resumed
}

// StaleForecast is what an epoch was forecast to take with fresh halo rows alone, and with stale rows in the layers
// that were chosen.
type StaleForecast struct {
	Layers []int   `json:"layers"` // whose rows may be stale; empty: in none does it save time
	ExactS float64 `json:"exact_s"`
	EpochS float64 `json:"epoch_s"`
}

// Isolated is a result's account of isolated parts.
type Isolated struct {
	Chunks     int     `json:"chunks"`
	AtATime    int     `json:"at_a_time"` // parts that train at a time
	Targets    string  `json:"targets"`
	Correction string  `json:"correction"`
	AllLayers  bool    `json:"all_layers"` // the first layer dropped edges too
	Switches   int     `json:"switches"`
	SwitchS    float64 `json:"switch_s"` // of all of them
	Coverage   float64 `json:"coverage"` // mean over epochs, of what targets saw of their in-neighbours
}

// Sampling is what the steps of a run were, and what they have done in all.
type Sampling struct {
	BatchSize int    `json:"batch_size"`
	Fanout    string `json:"fanout"`   // nearest the roots first
	Sampling  string `json:"sampling"` // as it was settled: fetch is not auto
	Work
	CPUS     float64 `json:"cpu_s"`    // of the whole process, or of all ranks
	Refilled int64   `json:"refilled"` // rows that filled the caches of a resumed run; rows and bytes leave them out
}

// PeakBytes is the largest memory that was taken at a time.
type PeakBytes struct {
	Host    int64   `json:"host"`
	Devices []int64 `json:"devices"`
}

// Build says which program trained.
type Build struct {
	Version  string `json:"version"`  // module version, "(devel)" for a build from a working tree
	Commit   string `json:"commit"`   // "" where the build does not know it
	Modified bool   `json:"modified"` // the working tree differed from the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Cgo      bool   `json:"cgo"`
	Tags     string `json:"tags"` // build tags
}

// maxResultBytes bounds result.json, which has 2 KiB and about 100 bytes for each device.
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
	return result, json.Unmarshal(data, result)
}
