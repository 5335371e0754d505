package report

import (
	"strings"

	"capgnn/internal/runfile"
	"capgnn/model"
)

// Run is what is known of one run.
type Run struct {
	Name       string         // what it is called: its folder
	Result     *Result        // nil: it is not finished
	Epochs     []Epoch        // ascending
	Planned    int            // epochs that were asked for
	Settings   []Setting      // in the order of config.yaml
	Partition  *Partition     // nil: one part, or not known
	Components *Components    // nil: nobody has computed them
	Trace      *Trace         // nil: none was recorded
	Program    *model.Program // of the model; nil: not known
	Repeat     []Step         // how to repeat it and what to do with it
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

// What the files of a run hold: result.json, and the lines of metrics.jsonl.
type (
	Result = runfile.Result
	Epoch  = runfile.Epoch
)
