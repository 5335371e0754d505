package prediction

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/internal/learn"
	"capgnn/internal/shell"
)

// loadWeights reads the weights.
func (p *Prediction) loadWeights() error {
	tensors, err := gnn.ReadStateDict(p.Weights)
	if err != nil {
		return term.Usagef("--weights: %w%s", err, p.otherWeights())
	}
	if p.model, err = modelOf(&p.Config, tensors); err != nil {
		return term.Usagef("--weights %s: %w", p.Weights, err)
	}
	p.values = gnn.NewWeights(p.model)
	if err := p.values.LoadStateDict(tensors); err != nil {
		return term.Usagef("--weights %s: %w", p.Weights, err)
	}
	return nil
}

// otherWeights says what to do where weights of the run cannot be read; "" for those of a file that was named.
func (p *Prediction) otherWeights() string {
	best, last := p.Folder.Best(), p.Folder.Last()
	switch {
	case p.Weights != best && p.Weights != last:
		return ""
	case p.Weights == best && term.Exists(last):
		return ": use those of the last epoch with --weights last"
	case p.Weights == last && term.Exists(best):
		return ": use those of the best epoch with --weights best"
	case p.result == nil:
		return fmt.Sprintf(": continue the run with `capgnn train --resume %s`", shell.Word(p.Folder))
	}
	return fmt.Sprintf(": train anew with `capgnn train --config %s`", shell.Word(p.Folder.Config()))
}

// SameModel refuses weights of another model than the run's, by what tensors do not show. Weights that say nothing of a
// model, as those of other programs, are taken.
func (p *Prediction) SameModel() error {
	meta, err := gnn.ReadMetadata(p.Weights)
	if err != nil || meta["model"] == "" { // of another format, which has been read
		return nil
	}
	if was, is := p.Config.Differs(meta); was != "" {
		return term.Usagef("--weights %s: they were trained %s, and the run in --run is one %s: give --run the run that "+
			"they come from, with its config.yaml as it was", p.Weights, was, is)
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
	d, err := datasets.ReadInput(ctx, p.Console, &p.Config, p.scaling, p.names.Columns)
	if err != nil {
		return err
	}
	if err := p.fits(d); p.Ranks.Leads() && err != nil {
		return term.Usagef("--dataset %s: %w", p.Config.Dataset, err)
	}
	if p.Other && p.Config.MakesFeatures() && p.Config.Features != dataset.FeaturesDegree {
		p.Console.Note("note: the run's --features %s match vertices by number: vertex v is taken as vertex v of the run's graph", p.Config.Features)
	}
	if p.What == PCA {
		p.labels = p.classesByName(d)
	}
	if err := p.loadSets(d, d.Graph.Rows(), func(s *runfolder.Sets) bool { return p.sameVertices(d, s) }); err != nil {
		return err
	}
	p.Data = &datasets.Input{Name: d.Name, Names: datasets.NamesOf(d), IDs: d.IDs, VertexNames: d.VertexNames, Problem: p.problem(d)}
	if err := datasets.SuitsWeights(p.Data.Problem, &p.Config); p.Ranks.Leads() && err != nil {
		return fmt.Errorf("--dataset %s: %w", p.Config.Dataset, err)
	}
	if p.Ranks != nil {
		p.Config.DataSHA256 = identity(p.Data.Problem)
	}
	p.noteData()
	return nil
}

// inShards returns the data set if it is kept in shards; nil: it is not. How it is read was settled when it was cut: takeShards looks at that.
func (p *Prediction) inShards(ctx context.Context) (*datasets.Input, error) {
	cfg := p.Config
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
	d := &dataset.Dataset{Graph: &graph.CSR{}, Features: dataset.Features{Cols: q.Features.Cols, Dense: []float32{}}, Labels: q.Labels, Targets: q.Targets, Classes: q.Classes,
		ColumnNames: in.Names.Columns, ClassNames: in.Names.Classes}
	if in.Names.Weighted {
		d.Graph.Weights = []float32{}
	}
	err := p.fits(d)
	if err == nil {
		err = p.suitsCut(in)
	}
	if p.Ranks.Leads() && err != nil {
		return term.Usagef("--dataset %s: %w", p.Config.Dataset, err)
	}
	if err := p.loadSets(nil, q.Vertices(), func(*runfolder.Sets) bool { return in.Identity() == p.Config.DataSHA256 }); err != nil {
		return err
	}
	p.Data = in
	p.Config.Parts, p.Config.DataSHA256 = len(in.Shards.Plan.Parts), in.Identity()
	p.noteData()
	return nil
}

// suitsCut compares how a data set was read that is kept in shards with how the run's was.
func (p *Prediction) suitsCut(in *datasets.Input) error {
	byRows := func(how string) bool { return how == dataset.StandardizeRows }
	if !reflect.DeepEqual(p.scaling, in.Scaling) || byRows(p.Config.Standardize) != byRows(in.Shards.Settled["standardize"]) {
		return fmt.Errorf("a folder of shards: its features were standardised otherwise than those of %s: name the data set itself", p.learned())
	}
	standard := runfolder.Default()
	is, usual := datasets.Settled(&p.Config), datasets.Settled(&standard)
	for _, name := range []string{"edges", "features"} {
		if is[name] != usual[name] && is[name] != in.Shards.Settled[name] {
			return fmt.Errorf("a folder of shards: its %s are %q, those of %s %q: name the data set itself", name, in.Shards.Settled[name], p.Folder, is[name])
		}
	}
	from, err := dataset.MatchNames(dataset.Columns, in.Names.Columns, p.names.Columns)
	if err == nil && from != nil {
		err = fmt.Errorf("a folder of shards: its columns lie in another order than those of %s: name the data set itself", p.learned())
	}
	return err
}

// noteData says what is predicted.
func (p *Prediction) noteData() {
	p.noteDirections()
	p.noteScales()
	p.Console.Note("%s: %s", p.Data.Name, p.Data.Size())
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
		return fmt.Errorf("it has %d vertices, the graph of %s has %d: the run's --features onehot needs the same vertices; runs of `capgnn train --features degree` predict other graphs", d.Features.Cols, p.Folder, p.model.In)
	}
	if d.Features.Cols != p.model.In {
		return fmt.Errorf("the data set has %d features, the model of %s reads %d", d.Features.Cols, p.Folder, p.model.In)
	}
	labelled := d.Labels != nil || d.Targets != nil
	if labelled && d.Classes != p.model.Out && !p.knowsClasses(d) {
		return p.otherCount(d)
	}
	if err := p.sameWeights(d.Graph.Weights != nil); err != nil {
		return err
	}
	p.noteNames(d)
	switch r := p.result; {
	case r == nil && !labelled && p.What == Labels:
		return fmt.Errorf("neither the data set nor the unfinished run says whether a vertex has one label or several: use --what logits, or finish the run with `capgnn train --resume %s`", shell.Word(p.Folder))
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
