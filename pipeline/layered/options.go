package layered

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
)

// Options configures an Evaluator.
type Options struct {
	Model gnn.Config
	// Devices have one part each, in order; one may appear more than once; nil: the part is another process's.
	Devices []gpu.Device
	Part    []int32 // part of every vertex; nil: there is one part
	// Rows are the vertices whose logits are wanted; nil: all. A layer computes the rows that these need, and no
	// others; of ÂX all are made.
	Rows []bool
	// Fanout has a row read a sample of its in-neighbours, so that logits are estimates: how many, by hop, nearest
	// the last layer first, as many as layers; nil: all. Which ones is a function of the model's seed, hop and
	// vertex, equal in every evaluation. The last hop is exact with Precomputed, whatever is said of it.
	Fanout []int
	// Precomputed has layer 0 read ÂX, which Aggregated makes. Only for models that read it, and not for features
	// that stay sparse.
	Precomputed bool
	// Storage is the element type of the rows that are gathered.
	Storage gpu.DType
	// AggregateFirst has every layer transform last; otherwise the cheaper order is taken.
	AggregateFirst bool
	// Dense has sparse features made dense.
	Dense bool
	// Scaling is ScalingOf the model and the degrees of the graph with its loops; nil: New makes it.
	Scaling *gnn.Scaling
	// ChunkBytes bounds what a part takes of its device for chunks; 0: 1 GiB, and at most half of what is left of
	// the device's budget, shared with the other parts on it. A part that does not fit as one chunk takes at most
	// 256 MiB of a CPU device. A vertex whose in-neighbours take more has a chunk of its own.
	ChunkBytes gpu.Bytes
	// Tables makes the memory of a table; nil: TablesIn the system's temporary folder, of what CPU devices may use.
	Tables func(name string, size int64) (Memory, error)
	// Complete is called when the rows of the vertices of this process's parts are in a table of a layer, and
	// returns when those of the others are that its own read; nil: all parts are of this process. Processes have
	// equal ChunkBytes.
	Complete func(h *meet.Hub, layer int, t *Table) error
	// Shares has others use the memory of CPU devices, and that of the tables of layers, between calls: it is taken
	// by a call, and given back when that returns (tables: if all parts are of this process). New takes it, too, to
	// see that it is there.
	Shares bool
	// WaitDeadline bounds every wait for a device; 0 = 5 minutes.
	WaitDeadline time.Duration
}

// Memory is where a table lies.
type Memory interface {
	Bytes() []byte
	Close() error
}

// TablesIn returns what makes tables in memory, where they take no more than half of what is free and of room (0:
// no bound), and otherwise in files of a folder that vanish with the process.
func TablesIn(dir string, room gpu.Bytes) func(name string, size int64) (Memory, error) {
	return func(name string, size int64) (Memory, error) {
		free, _, err := hostmem.Free()
		if err == nil && free/2 < size || !within(room, size) {
			return files(dir)(name, size)
		}
		return files("")(name, size)
	}
}

// within reports whether a table may take so much of room.
func within(room gpu.Bytes, size int64) bool { return room <= 0 || size <= int64(room/2) }

// files returns what makes tables in files of a folder, or in memory where dir is empty.
func files(dir string) func(name string, size int64) (Memory, error) {
	return func(name string, size int64) (Memory, error) {
		mem, err := hostmem.NewScratch("evaluation", name, dir, size)
		if err != nil {
			return nil, err
		}
		return mem, nil
	}
}

// hostRoom is what the user lets this process have of the host's memory: the least budget of a CPU device, 0 where
// there is none.
func hostRoom(devices []gpu.Device) (least gpu.Bytes) {
	for _, d := range devices {
		if d == nil {
			continue
		}
		if info := d.Info(); info.Kind == gpu.CPU && (least == 0 || info.Budget < least) {
			least = info.Budget
		}
	}
	return least
}

const (
	defaultChunk    = gpu.Bytes(1 << 30)
	mostOfPiece     = gpu.Bytes(256 << 20)
	defaultDeadline = 5 * time.Minute
)

func (o *Options) complete() {
	if o.Tables == nil {
		o.Tables = TablesIn(os.TempDir(), hostRoom(o.Devices))
	}
	if o.WaitDeadline == 0 {
		o.WaitDeadline = defaultDeadline
	}
}

// chunkBytes returns the budget of a part.
func (o *Options) chunkBytes(part int) gpu.Bytes {
	if o.ChunkBytes > 0 {
		return o.ChunkBytes
	}
	dev, sharing := o.Devices[part], gpu.Bytes(0)
	if dev == nil {
		return defaultChunk
	}
	for _, d := range o.Devices {
		if d == dev {
			sharing++
		}
	}
	m := dev.Memory()
	return min(defaultChunk, max(0, m.Budget-m.Used)/2/sharing)
}

// pieceBytes returns the budget of a part that is not one chunk. On a CPU larger chunks would not be computed faster.
func (o *Options) pieceBytes(part int) gpu.Bytes {
	budget := o.chunkBytes(part)
	if d := o.Devices[part]; d == nil || d.Info().Kind == gpu.CPU { // another process's may be one
		budget = min(budget, mostOfPiece)
	}
	return budget
}

func (o *Options) validate(p *learn.Problem) error {
	entries := len(o.Part)
	if o.Part == nil && len(o.Devices) <= 1 {
		entries = p.Vertices()
	}
	errs := append(p.CheckInput(o.Model, len(o.Devices), entries), p.SuitsWeights(o.Model))
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	for v, part := range o.Part {
		if part < 0 || int(part) >= len(o.Devices) {
			bad("vertex %d: part %d is outside [0, %d)", v, part, len(o.Devices))
			break
		}
	}
	if len(o.Rows) != p.Vertices() && o.Rows != nil {
		bad("%d entries of wanted rows for %d vertices", len(o.Rows), p.Vertices())
	}
	if o.Fanout != nil && (len(o.Fanout) != o.Model.Layers || slices.Min(o.Fanout) < 1) {
		bad("fan-outs %v of evaluation for %d layers: want one each, at least 1", o.Fanout, o.Model.Layers)
	}
	if o.Precomputed && (!o.Model.CanPrecompute() || p.Features.Sparse() && !o.Dense) {
		bad("aggregated features are neither for this model nor for sparse features")
	}
	if o.ChunkBytes < 0 {
		bad("chunks of %d bytes", o.ChunkBytes)
	}
	return errors.Join(errs...)
}

// TooLarge says that the in-neighbours of one vertex do not fit a device. It is a *gpu.OutOfMemory.
type TooLarge struct {
	Vertex, Neighbours int
	Memory             *gpu.OutOfMemory
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("evaluate vertex %d: the rows of its %d in-neighbours take %d bytes of %s, %d are left: give the device more memory, or choose a smaller --hidden",
		e.Vertex, e.Neighbours, e.Memory.Need, e.Memory.Device, e.Memory.Have)
}

func (e *TooLarge) Unwrap() error { return e.Memory }
