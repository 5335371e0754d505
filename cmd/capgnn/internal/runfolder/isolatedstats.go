package runfolder

import (
	"fmt"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/pipeline"
)

// superEpoch is a line's account of isolated parts.
type superEpoch struct {
	Shift    int      `json:"shift"`  // part i held chunks i and (i + shift) mod c
	Phases   int      `json:"phases"` // of the epoch
	Coverage coverage `json:"coverage"`
	// Switch is in the epochs before which every part got another chunk, and in those that have phases.
	Switch *chunkSwitch `json:"switch,omitempty"`
}

// coverage says how much of their neighbourhoods the targets of all parts saw.
type coverage struct {
	Mean  float64 `json:"mean"`  // over targets, of local over all in-neighbours
	Edges float64 `json:"edges"` // share of the targets' in-edges
	Alone int     `json:"alone"` // targets whose neighbours were all elsewhere
}

// chunkSwitch is what it took to bring chunks to parts, which is not in the epoch's time and bytes.
type chunkSwitch struct {
	Seconds float64   `json:"s"`
	Bytes   gpu.Bytes `json:"bytes"` // from the host to devices
}

// superEpochOf returns nil for nil.
func superEpochOf(s *pipeline.SuperEpoch) *superEpoch {
	if s == nil {
		return nil
	}
	out := &superEpoch{Shift: s.Shift, Phases: s.Phases, Coverage: coverage{Mean: s.Coverage.Ratio, Edges: 1, Alone: s.Coverage.Alone}}
	if s.Coverage.All > 0 {
		out.Coverage.Edges = float64(s.Coverage.Kept) / float64(s.Coverage.All)
	}
	if s.Switches > 0 {
		out.Switch = &chunkSwitch{s.Switch.Seconds(), s.Bytes}
	}
	return out
}

// runIsolated is a result's account of isolated parts.
type runIsolated struct {
	Chunks     int     `json:"chunks"`
	AtATime    int     `json:"at_a_time"` // parts that train at a time
	Targets    string  `json:"targets"`
	Correction string  `json:"correction"`
	AllLayers  bool    `json:"all_layers"` // the first layer dropped edges too
	Switches   int     `json:"switches"`
	SwitchS    float64 `json:"switch_s"` // of all of them
	Coverage   float64 `json:"coverage"` // mean over epochs, of what targets saw of their in-neighbours
}

// isolatedOf returns nil where parts exchange rows.
func isolatedOf(cfg *Config, r *pipeline.Result) *runIsolated {
	i := cfg.Isolated.Value
	if i == nil {
		return nil
	}
	out := &runIsolated{Chunks: cfg.Parts, AtATime: cfg.WorkersOf(cfg.Parts), Targets: string(i.Targets), Correction: string(i.Correction), AllLayers: i.AllLayers, Switches: r.Switches, SwitchS: r.SwitchTime.Seconds()}
	if r.Epochs > 0 {
		out.Coverage = r.Covered / float64(r.Epochs)
	}
	return out
}

func (r *runIsolated) String() string {
	turns := ""
	if r.AtATime < r.Chunks {
		turns = fmt.Sprintf(", %d at a time", r.AtATime)
	}
	return fmt.Sprintf("%s%s, correction %s, targets see %s of their neighbours, chunks switched %s in %s", term.Counted(r.Chunks, "chunk"), turns, r.Correction,
		term.Percentage(r.Coverage), term.Counted(r.Switches, "time"), term.Duration(&r.SwitchS))
}
