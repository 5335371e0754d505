package prediction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/graph/dataset"
	"capgnn/internal/learn"
)

// loadWeights reads the weights.
func (p *Prediction) loadWeights() error {
	tensors, err := gnn.ReadStateDict(p.Weights)
	if err != nil {
		return term.Usagef("--weights: %w", err)
	}
	if p.model, err = modelOf(&p.Config, tensors); err != nil {
		return term.Usagef("--weights %s: %w", p.Weights, err)
	}
	p.values = gnn.NewWeights(p.model)
	if err := p.values.LoadStateDict(tensors); err != nil {
		return term.Usagef("--weights %s: %w", p.Weights, err)
	}
	return p.sameLayers()
}

// sameLayers looks at what tensors do not show. Weights that say nothing of a model, as those of other programs, are taken.
func (p *Prediction) sameLayers() error {
	meta, err := gnn.ReadMetadata(p.Weights)
	if err != nil || meta["model"] == "" { // of another format, which has been read
		return nil
	}
	have := gnn.Config{Activation: cmp.Or(gnn.Activation(meta["activation"]), gnn.ReLU), Residual: meta["residual"] == "true"}
	activates := p.model.HiddenLayers() > 0 || p.model.Kind.KeepsOrigin() || p.model.Kind == gnn.GIN
	if f := cmp.Or(p.model.Activation, gnn.ReLU); activates && have.Activation != f {
		return term.Usagef("--weights %s: they were trained with --activation %s, and the run in --run with %s: give --run the run that they come from", p.Weights, have.Activation, f)
	}
	if have.Residual != p.model.Residual {
		said := map[bool]string{true: "with", false: "without"}
		return term.Usagef("--weights %s: they were trained %s --residual, and the run in --run %s: give --run the run that they come from", p.Weights, said[have.Residual], said[p.model.Residual])
	}
	return nil
}

// loadInput reads weights, which rank 0 of several has and gives to all, and data, and checks that they fit each other.
func (p *Prediction) loadInput(ctx context.Context) error {
	if p.Ranks == nil {
		if err := p.loadWeights(); err != nil {
			return err
		}
	}
	if in, err := p.inShards(ctx); in != nil || err != nil {
		return errors.Join(err, p.takeShards(in))
	}
	d, err := datasets.Read(ctx, p.Console, &p.Config, p.scaling)
	if err != nil {
		return err
	}
	if err := p.fits(d); p.leads() && err != nil {
		return term.Usagef("--dataset %s: %w", p.Config.Dataset, err)
	}
	if p.Other && p.Config.MakesFeatures() && p.Config.Features != dataset.FeaturesDegree {
		p.Console.Note("note: the run has --features %s, which match vertices by number: vertex v is taken as vertex v of the run's graph", p.Config.Features)
	}
	if p.What == PCA {
		p.labels = d.Labels
	}
	p.Data = &datasets.Input{Name: d.Name, ClassNames: d.ClassNames, Problem: &learn.Problem{
		Graph: d.Graph, Loops: datasets.LoopsOf(p.Config.SelfLoops, p.Config.Model),
		Features: learn.Features{Cols: d.Features.Cols, Dense: d.Features.Dense, Indptr: d.Features.Indptr, Indices: d.Features.Indices, Data: d.Features.Data},
		Classes:  p.model.Out,
	}}
	if err := datasets.SuitsWeights(p.Data.Problem, &p.Config); p.leads() && err != nil {
		return fmt.Errorf("--dataset %s: %w", p.Config.Dataset, err)
	}
	if p.Ranks != nil {
		p.Config.DataSHA256 = identity(p.Data.Problem)
	}
	p.noteData()
	return nil
}

// inShards returns the data set if it is kept in shards; nil: it is not. How its features are standardised was settled when it was cut: takeShards looks at that.
func (p *Prediction) inShards(ctx context.Context) (*datasets.Input, error) {
	cfg := p.Config
	cfg.Standardize = dataset.Auto
	in, err := datasets.InShards(ctx, p.Console, &cfg)
	p.Config.DatasetPath = cfg.DatasetPath
	return in, err
}

// takeShards makes a data set that is kept in shards what is predicted. Its features were standardised when it was cut.
func (p *Prediction) takeShards(in *datasets.Input) error {
	if in == nil {
		return nil
	}
	q := in.Problem
	d := &dataset.Dataset{Features: dataset.Features{Cols: q.Features.Cols, Dense: []float32{}}, Labels: q.Labels, Targets: q.Targets, Classes: q.Classes}
	err := p.fits(d)
	byRows := func(how string) bool { return how == dataset.StandardizeRows }
	if err == nil && (!reflect.DeepEqual(p.scaling, in.Scaling) || byRows(p.Config.Standardize) != byRows(in.Shards.Settled["standardize"])) {
		err = fmt.Errorf("a folder of shards: its features were standardised otherwise than those of %s: name the data set itself", p.Folder)
	}
	if p.leads() && err != nil {
		return term.Usagef("--dataset %s: %w", p.Config.Dataset, err)
	}
	p.Data = in
	p.Config.Parts, p.Config.DataSHA256 = len(in.Shards.Plan.Parts), in.Identity()
	p.noteData()
	return nil
}

// noteData says what is predicted.
func (p *Prediction) noteData() {
	q := p.Data.Problem
	p.Console.Note("%s: %s vertices, %s edges, %s features", p.Data.Name, term.Grouped(q.Vertices()), term.Grouped(q.Edges()), term.Grouped(q.Features.Cols))
}

// modelOf returns the network of a run; its input and output widths are those of the weights.
func modelOf(cfg *runfolder.Config, tensors gnn.StateDict) (gnn.Config, error) {
	m := cfg.Network(0, 0, false)
	weight, bias := "convs.0.lin.weight", fmt.Sprintf("convs.%d.bias", m.Layers-1)
	switch m.Kind {
	case gnn.SAGE:
		weight, bias = "convs.0.lin_l.weight", fmt.Sprintf("convs.%d.lin_l.bias", m.Layers-1)
	case gnn.GATv2:
		weight = "convs.0.lin_l.weight"
	case gnn.GIN:
		weight, bias = "convs.0.nn.lins.0.weight", fmt.Sprintf("convs.%d.nn.lins.1.bias", m.Layers-1)
	case gnn.SGC:
		weight, bias = "lin.weight", "lin.bias"
	case gnn.APPNP:
		weight, bias = "lin1.weight", "lin2.bias"
	case gnn.GCNII:
		weight, bias = "lins.0.weight", "lins.1.bias"
	}
	if m.Jumping {
		bias = "lin.bias"
	}
	w, b := tensors[weight], tensors[bias]
	if w == nil || b == nil || w.Dims() != 2 || b.Dims() != 1 {
		return m, fmt.Errorf("no matrix %s and vector %s: these are not weights of a %s with %d layers, as the run has it", weight, bias, m.Kind, m.Layers)
	}
	m.In, m.Out = w.Shape()[1], b.Shape()[0]
	elements := int64(0)
	for _, t := range tensors {
		elements += int64(t.Shape().TotalSize())
	}
	// Nothing is allocated by the config's widths alone. What padding adds is far below 1024 elements per tensor.
	if need := gnn.FlatLen(m); need > elements+1024*int64(len(tensors)) {
		return m, fmt.Errorf("%d elements, the run's model has %d", elements, need)
	}
	return m, m.Validate()
}

// fits checks the data set against the model and settles whether vertices have several labels.
func (p *Prediction) fits(d *dataset.Dataset) error {
	if err := datasets.Overlooked(d, dataset.LooksFeatures); err != nil {
		return err
	}
	if !d.Features.Present() {
		return errors.New("the data set has no features (x): nothing can be predicted from it")
	}
	if p.Config.Features == dataset.FeaturesOneHot && d.Features.Cols != p.model.In {
		return fmt.Errorf("it has %d vertices, the graph of %s has %d: the run's --features onehot needs the same vertices; train with --features degree to predict other graphs", d.Features.Cols, p.Folder, p.model.In)
	}
	if d.Features.Cols != p.model.In {
		return fmt.Errorf("the data set has %d features, the model of %s reads %d", d.Features.Cols, p.Folder, p.model.In)
	}
	labelled := d.Labels != nil || d.Targets != nil
	if labelled && d.Classes != p.model.Out {
		return fmt.Errorf("the data set has %d classes, the model of %s gives %d", d.Classes, p.Folder, p.model.Out)
	}
	r, err := p.Folder.ReadResult()
	switch {
	case err != nil:
		return err
	case r == nil && !labelled && p.What == Labels:
		return fmt.Errorf("neither the data set nor the unfinished run says whether a vertex has one label or several: use --what logits, or finish the run with `capgnn train --resume %s`", p.Folder)
	case r == nil:
		p.multi = d.MultiLabel()
	default:
		p.multi = r.Several || r.Metric == string(learn.MicroF1)
	}
	if labelled && p.multi != d.MultiLabel() {
		return fmt.Errorf("one of the data set and the run %s has one label per vertex, the other several", p.Folder)
	}
	return nil
}
