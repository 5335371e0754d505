package pipeline

import (
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/trainer"
	"capgnn/pipeline/halo"
)

// Options configures a Trainer.
type Options struct {
	Training
	Devices []gpu.Device // one part each, in order; a device may appear more than once
	// First is the part of Devices[0], Parts the number of all parts, those of other processes among them; 0: as many as Devices.
	First, Parts int
	Part         []int32 // part of every vertex
	// Rank is a preferred order of the vertices inside a part, for locality; nil: by id. Results do not depend on it but
	// for rounding.
	Rank     []int32
	everyRow bool // every layer computes every row, as a prediction asks for; otherwise those that the loss depends on
	// Dropped lists the pruned halo vertices of each part, by original id, ascending: all layers of training but the
	// first ignore the edges from them into the part (docs/adr/0009). Evaluation uses the whole graph. nil or all
	// empty: nothing is pruned.
	Dropped [][]graph.NodeID
	// Isolated has parts train without rows of each other; nil: they exchange them.
	Isolated *Isolated
	// Stream has the parts of a device that has several take turns in its memory, which has room for the largest of them; results are
	// those of parts that are held together.
	Stream bool
	// Cache says which halo rows are kept, and how old they may get.
	Cache halo.Options
	// Prepared keeps results of the work before the first epoch for later runs; nil: nothing is kept. Results of the
	// run do not depend on it.
	Prepared Prepared
	// Layout was made by NewLayout from the same problem and options, except for devices; nil: New makes one.
	Layout *Layout
}

// own are the parts of this process.
func (o *Options) own() graph.Range { return graph.Range{Lo: o.First, Hi: o.First + len(o.Devices)} }

// What every run is told, and what it tells of an epoch, of all of them, and in the end.
type (
	Training   = trainer.Training
	EpochStats = trainer.EpochStats
	SuperEpoch = trainer.SuperEpoch
	Totals     = trainer.Totals
	Result     = trainer.Result
)

// core is what package trainer has to know.
func (o *Options) core() trainer.Options {
	return trainer.Options{Training: o.Training, Devices: o.Devices, First: o.First, Parts: o.Parts, Lock: o.Cache.Lock()}
}
