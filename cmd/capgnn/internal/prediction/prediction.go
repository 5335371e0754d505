package prediction

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/pipeline"
)

// Values of --what.
const (
	Logits     = "logits"
	Labels     = "labels"
	Embeddings = "embeddings"
	PCA        = "pca"
	// Probabilities are the logits' softmax, or their sigmoid where vertices have several labels.
	Probabilities = "probabilities"
)

// Whats are all that can be predicted.
var Whats = []string{Logits, Probabilities, Labels, Embeddings, PCA}

// Prediction is one `predict` on its way.
type Prediction struct {
	*training.Run               // settings of the run, data and devices
	Folder        runfolder.Dir // whose settings are used
	Weights       string        // file
	Learned       runfolder.Dir // of the run that they come from; "": Folder
	Alone         bool          // they lie in no folder of a run
	What          string
	Layer         int // -1: the last hidden one
	Out           string
	Only          string              // the set of which vertices are written; "": all are
	Other         bool                // another data set than the run's was named
	BeyondMemory  bool                // the run's devices need not have held the graph: logits are made in chunks
	scaling       *dataset.Scaling    // what the run's features were standardised with; nil: they are as stored
	names         runfolder.DataNames // of the run's data
	stream        bool                // parts of a device take turns there
	result        *runfolder.Result   // of the run; nil: it is not finished
	sets          *runfolder.Sets     // in which vertices are; nil: not known
	multi         bool                // several labels per vertex
	labels        []int32             // of PCA: class of each vertex; nil: the data set has none, or several labels per vertex
	model         gnn.Config
	values        *gnn.Weights
}

// Predict runs the network and writes the file. Of several ranks rank 0 writes it, and has the result.
func (p *Prediction) Predict(ctx context.Context) (*Result, error) {
	for _, step := range append([]training.Step{p.loadInput}, p.ForPrediction()...) {
		if err := p.agree(ctx, errors.Join(step(ctx), ctx.Err())); err != nil {
			return nil, devices.CloseAfter(err, p.Devices)
		}
	}
	if err := p.agree(ctx, p.sparesData()); err != nil {
		return nil, devices.CloseAfter(err, p.Devices)
	}
	begin := time.Now()
	t, err := p.compute(ctx)
	r := &Result{Dataset: p.Data.Name, RunDir: string(p.Folder), Weights: p.Weights, What: p.What,
		Out: p.outFile(), Seconds: time.Since(begin).Seconds()}
	if p.Layer >= 0 {
		r.Layer = &p.Layer
	}
	for i, d := range p.Devices { // those of rank 0 are the first ones
		r.Devices = append(r.Devices, p.Specs[i].String())
		r.PeakBytes = append(r.PeakBytes, d.Memory().HighWater)
	}
	if err := devices.CloseAfter(err, p.Devices); err != nil {
		return nil, p.Ranks.Fail(err)
	}
	if p.Ranks.Leads() {
		r.Vertices, r.Columns = t.size()
		if note := t.note(); note != "" {
			p.Console.Note("%s", note)
		}
		err = t.write(r.Out)
	}
	return r, p.agree(context.WithoutCancel(ctx), err)
}

// sparesData refuses to write over a file of the data set, and where nothing can be written.
func (p *Prediction) sparesData() error {
	if p.Out == "" && p.Ranks.Leads() {
		if err := term.CheckOut("run", p.outFile()); err != nil {
			return fmt.Errorf("%w: name another file with --out", err)
		}
	}
	if p.Out == "" || !p.Ranks.Leads() || p.Config.DatasetPath == "" {
		return nil
	}
	out, err := filepath.Abs(p.Out)
	if err != nil {
		return err
	}
	for _, path := range []string{p.Config.DatasetPath, filepath.Join(p.Config.DatasetPath, filepath.Base(out))} {
		data, err := os.Stat(path)
		there, outErr := os.Stat(out)
		if err == nil && outErr == nil && os.SameFile(data, there) {
			return term.Usagef("--out %s: is a file of data set %s: choose another name", p.Out, p.Data.Name)
		}
	}
	return nil
}

// predicted is what is written: rows by vertex, or components.
type predicted interface {
	size() (rows, cols int)
	write(path string) error
	note() string // what of it is no number; "": nothing
}

// compute returns what is predicted, on rank 0. Its memory is asked for when the devices have had theirs, which is more.
func (p *Prediction) compute(ctx context.Context) (out predicted, err error) {
	var t *table
	switch p.What {
	case PCA:
		var c *components
		if c, err = p.components(ctx); c != nil {
			out = c
		}
	case Labels:
		err = pipeline.PredictRows(ctx, p.Data.Problem, p.options(), func(ids []graph.NodeID, logits []float32) error {
			if t == nil {
				t = newLabels(p.Data.Problem.Vertices(), p.model.Out, p.multi)
			}
			t.put(ids, logits)
			return nil
		})
	default:
		var rows []float32
		if rows, err = pipeline.Predict(ctx, p.Data.Problem, p.options()); err == nil && p.Ranks.Leads() {
			t = newRows(p.What, rows, p.Data.Problem.Vertices())
		}
		if t != nil && p.What == Probabilities {
			t.probabilities(p.multi)
		}
	}
	if t != nil {
		t.names, t.id, t.sets, t.only = p.classNames(), p.Data.ID(), p.sets, p.Only
		out = t
	}
	var oom *gpu.OutOfMemory
	if errors.As(err, &oom) {
		if turns, err := p.takeTurns(ctx); turns || err != nil {
			if err != nil {
				return nil, term.AsUsage(err)
			}
			return p.compute(ctx)
		}
		return nil, p.PredictionFits(oom, !p.options().Chunks, func(devices []gpu.Device) error {
			other, run := *p, *p.Run
			other.Run, run.Devices = &run, devices
			if !p.options().Chunks {
				return pipeline.PlacePrediction(ctx, p.Data.Problem, other.options())
			}
			none := func([]graph.NodeID, []float32) error { return nil }
			return pipeline.PredictRows(ctx, p.Data.Problem, other.options(), none)
		})
	}
	return out, term.AsUsage(err)
}

// takeTurns has parts take turns on devices that cannot hold them, if that fits.
func (p *Prediction) takeTurns(ctx context.Context) (bool, error) {
	if p.stream || p.options().Chunks {
		return false, nil
	}
	fit, err := p.PredictInTurns(ctx, func(on []gpu.Device, stream bool) error {
		other, run := *p, *p.Run
		other.Run, run.Devices, other.stream = &run, on, stream
		return pipeline.PlacePrediction(ctx, p.Data.Problem, other.options())
	})
	p.stream = fit
	return fit, err
}

// part returns the part of every vertex.
func (p *Prediction) part() []int32 {
	if p.Plan != nil {
		return p.Plan.Part
	}
	return make([]int32, p.Data.Problem.Vertices())
}

// options are those of the logits of all vertices, or the rows of a layer.
func (p *Prediction) options() pipeline.PredictOptions {
	opt := pipeline.PredictOptions{Model: p.model, Weights: p.values, Layers: p.Layer + 1, Part: p.part(),
		Storage: p.Config.ElementType(), Stream: p.stream, Chunks: p.BeyondMemory && p.Layer < 0 && p.Ranks == nil}
	p.Place(&opt)
	return opt
}

// outFile returns the file to write.
func (p *Prediction) outFile() string {
	if p.Out != "" {
		return p.Out
	}
	name, ending := p.What, ".npy"
	if p.What == PCA {
		ending = ".json"
	}
	if p.Other {
		name += "-" + runfolder.FileName(p.Data.Name)
	}
	return filepath.Join(string(p.Folder), name+ending)
}

// UseScaling settles how the features of the data set that is predicted are standardised: with what the run's were, never
// with the rows of another data set.
func (p *Prediction) UseScaling() error {
	if p.Config.MakesFeatures() {
		return nil
	}
	s, err := p.learned().ReadScaling()
	if err != nil {
		return err
	}
	p.scaling = s
	if s != nil || !p.elsewhere() {
		return nil
	}
	if how := p.names.Standardized; p.Learned != "" {
		if p.Config.Standardize = dataset.StandardizeNone; how == dataset.StandardizeRows {
			p.Config.Standardize = how
		}
	}
	if p.Config.Standardize == dataset.StandardizeTrain || p.Config.Standardize == dataset.Auto && datasets.LooksLike(p.Config.DatasetPath, "graphsaint") {
		return term.Usagef("--run %s standardised its features, but does not hold mean and deviation (standardize.npz): train it again to predict another data set", p.learned())
	}
	if p.Config.Standardize != dataset.StandardizeRows { // which needs nothing of the run's data
		p.Config.Standardize = dataset.StandardizeNone
	}
	return nil
}
