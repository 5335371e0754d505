package learn

import (
	"errors"
	"fmt"
	"iter"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
)

// Task is what a run learns of a Problem: targets, a loss that compares them with what the last layer makes, and
// scores. The package's documentation says what a new one has to give.
type Task interface {
	// Check says why a model does not suit the task.
	Check(m gnn.Config) error
	// Even reports whether all training vertices weigh as much in the loss.
	Even() bool
	// Terms returns what n training vertices weigh in the loss: those of ids, which are looked at if they differ.
	Terms(n int, ids iter.Seq[graph.NodeID]) float64
	// Targets are arrays that the loss reads on a device. all: it counts every row.
	Targets(all bool) []Targets
	// On puts the loss on a device, for at most so many rows. alloc returns nil, and reports that itself, where there
	// is no memory left, or is only to be counted: then the loss is good for nothing. beside makes a queue.
	On(alloc func(size gpu.Bytes, name string) gpu.Buffer, q gpu.Queue, beside func() gpu.Queue, rows int) Loss

	// Metric is what the splits are scored by.
	Metric() Metric
	// Count adds the logits of some vertices. Parts count those of theirs, a chunk at a time.
	Count(e *Evidence, ids []graph.NodeID, logits []float32)
	// Counted returns the scores of all vertices and the loss of validation, of what parts have counted, in their
	// order.
	Counted(all []Evidence) Metrics
	// Ranks reports whether scores of all vertices are looked at together: those of splits are then what Rank returns.
	Ranks() bool
	// Rank returns the scores by rank. of returns what all vertices of a split have, for one label after another, split
	// by split; its error ends it.
	Rank(of func(split, label int) (gnn.Ranked, error)) (Metrics, error)
}

// Kind says which Task a run has of a Problem, or what is wrong with it.
type Kind interface {
	Of(p *Problem) (Task, error)
}

// Of returns the task of a kind; nil: Labels.
func Of(k Kind, p *Problem) (Task, error) {
	if k == nil {
		k = Labels{}
	}
	return k.Of(p)
}

// CheckInput says what is wrong with what a prediction reads on so many devices, with part entries of so many vertices.
func (p *Problem) CheckInput(m gnn.Config, devices, entries int) []error {
	errs := []error{p.ValidateInput()}
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if p.Vertices() == 0 {
		bad("the graph has no vertex")
	}
	if devices == 0 {
		bad("no device")
	}
	if entries != p.Vertices() {
		bad("%d part entries for %d vertices", entries, p.Vertices())
	}
	if m.In != p.Features.Cols {
		bad("the model reads %d features, the data has %d", m.In, p.Features.Cols)
	}
	return errs
}

// Check reports all that is wrong with training a model for a task of the problem, with rows stored so. It returns the
// task.
func (p *Problem) Check(k Kind, m gnn.Config, storage gpu.DType) (Task, error) {
	task, err := Of(k, p)
	if err == nil {
		err = task.Check(m)
	}
	errs := []error{p.Validate(), err, p.SuitsWeights(m)}
	if m.In != p.Features.Cols {
		errs = append(errs, fmt.Errorf("the model reads %d features, the data has %d", m.In, p.Features.Cols))
	}
	if storage != gpu.FP32 && !m.StoresBF16() {
		errs = append(errs, fmt.Errorf("storage %v: the model stores fp32 only", storage))
	}
	return task, errors.Join(errs...)
}

// Targets are an array of a Task. Whoever places it on a device knows neither its type nor what it says.
type Targets struct {
	Name string
	// Size returns its bytes for so many rows of the loss. A list whose length follows from what was drawn is as long
	// as the longest, and says itself where it ends.
	Size func(rows int) int
	// Fill writes it for these vertices, whose rows are the first ones that the last layer makes. The loss counts those
	// rows that counts says; nil: all.
	Fill func(dst []byte, ids []graph.NodeID, counts func(row int) bool)
}

// Made returns the array.
func (t *Targets) Made(ids []graph.NodeID, counts func(row int) bool) []byte {
	raw := make([]byte, t.Size(len(ids)))
	t.Fill(raw, ids, counts)
	return raw
}

// Loss is that of a Task on one device. It allocates nothing there once it is made. Losses of several parts add up.
type Loss struct {
	// Enqueue makes the gradient and the sum, which is in Compared.Host by the time that Fetch and Await say.
	Enqueue func(q gpu.Queue, x Compared)
	// onHost makes the sum on a queue of its own; nil: the device makes it.
	onHost interface{ Await(q gpu.Queue) }
}

// Compared is what a Loss compares.
type Compared struct {
	Logits, Grad gpu.Matrix // Grad may be the Logits, which are overwritten
	Targets      []gpu.Array[uint8]
	Scale        float64            // of loss and gradient: 1 over the Terms of all parts
	Sum          gpu.Array[float64] // one
	Host         []byte             // 8 bytes, for the sum
}

// Fetch brings the sums of some calls of Enqueue to the host, unless it has made them itself.
func (l *Loss) Fetch(q gpu.Queue, host []byte, sums gpu.Array[float64]) {
	if l.onHost == nil {
		q.Download(host, sums.Buf, 8*gpu.Bytes(sums.Off))
	}
}

// Await delays q until the host has made the newest sum, if it makes them.
func (l *Loss) Await(q gpu.Queue) {
	if l.onHost != nil {
		l.onHost.Await(q)
	}
}

// ints views a target as integers.
func ints(t gpu.Array[uint8]) gpu.Ints { return gpu.Ints{Buf: t.Buf, Off: t.Off / 4, Len: t.Len / 4} }
