package runfolder

import (
	"fmt"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/runfile"
	"capgnn/pipeline"
)

// superEpochOf returns nil for nil.
func superEpochOf(s *pipeline.SuperEpoch) *runfile.SuperEpoch {
	if s == nil {
		return nil
	}
	out := &runfile.SuperEpoch{Shift: s.Shift, Phases: s.Phases, Coverage: runfile.Coverage{Mean: s.Coverage.Ratio, Edges: 1, Alone: s.Coverage.Alone}}
	if s.Coverage.All > 0 {
		out.Coverage.Edges = float64(s.Coverage.Kept) / float64(s.Coverage.All)
	}
	if s.Switches > 0 {
		out.Switch = &runfile.Switch{S: s.Switch.Seconds(), Bytes: int64(s.Bytes)}
	}
	return out
}

// isolatedOf returns nil where parts exchange rows.
func isolatedOf(cfg *Config, r *pipeline.Result) *runfile.Isolated {
	i := cfg.Isolated.Value
	if i == nil {
		return nil
	}
	out := &runfile.Isolated{Chunks: cfg.Parts, AtATime: cfg.WorkersOf(cfg.Parts), Targets: string(i.Targets),
		Correction: string(i.Correction), AllLayers: i.AllLayers, Switches: r.Switches, SwitchS: r.SwitchTime.Seconds()}
	if r.Epochs > 0 {
		out.Coverage = r.Covered / float64(r.Epochs)
	}
	return out
}

func isolatedText(r *runfile.Isolated) string {
	turns := ""
	if r.AtATime < r.Chunks {
		turns = fmt.Sprintf(", %d at a time", r.AtATime)
	}
	return fmt.Sprintf("%s%s, correction %s, targets see %s of their neighbours, chunks switched %s in %s", term.Counted(r.Chunks, "chunk"), turns, r.Correction,
		term.Percentage(r.Coverage), term.Counted(r.Switches, "time"), term.Duration(&r.SwitchS))
}
