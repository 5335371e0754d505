package training

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/rapa"
)

// settleShards settles what the shards of a data set decide: the parts, and that their rows lie in the order of the vertices. It refuses what says something else.
func (t *Run) settleShards() error {
	s, c := t.Data.Shards, &t.Config
	if s == nil {
		return nil
	}
	refuse := func(format string, a ...any) error {
		return term.Usagef("--dataset %s: a folder of shards: "+format, append([]any{c.Dataset}, a...)...)
	}
	parts := len(s.Plan.Parts)
	switch {
	case t.Ranks == nil && t.Command != "train":
		return refuse("only `capgnn train` and `capgnn predict` take it: name the data set itself")
	case c.Isolated.Value != nil:
		return refuse("isolated parts take turns with chunks of the whole graph: name the data set itself, or drop --isolated")
	case !c.Sampled() && (c.ClassWeights.String() != "" || c.LabelSmoothing > 0):
		return refuse("the loss would be weighed by labels of all machines: name the data set itself, or drop --class-weights and --label-smoothing")
	case c.Plan != "" && !t.Resume:
		return refuse("it has the parts already: drop --plan %s", c.Plan)
	case c.Partitioner != string(rapa.Methods[0]) && !t.Resume:
		return refuse("it is cut already: drop --partitioner %s", c.Partitioner)
	case c.Machines.Value != nil && !t.Resume:
		return refuse("it is cut for machines already: drop --machines %s", c.Machines)
	case c.Prune > 0 || c.MaxPrune > 0:
		return refuse("edges are left out before it is cut, if at all: drop --prune")
	case c.Parts != 0 && c.Parts != parts:
		return refuse("it has %s: drop --parts %d, or cut the data set anew", term.Counted(parts, "part"), c.Parts)
	case c.Order != runfolder.OrderAuto && c.Order != runfolder.OrderNone:
		return refuse("rows lie in the order of the vertices: drop --order %s", c.Order)
	case c.PlanKey != "" && c.PlanKey != s.Plan.Key:
		return refuse("it is cut by plan %.12s, the settings are of a run by plan %.12s: name the shards of that plan", s.Plan.Key, c.PlanKey)
	}
	standard := runfolder.Default()
	is, usual := datasets.Settled(c), datasets.Settled(&standard)
	for _, name := range datasets.SettledByShards {
		if is[name] != s.Settled[name] && (is[name] != usual[name] || slices.Contains(t.Given, name)) {
			return refuse("it was cut with --%s %q: drop --%s %s", name, s.Settled[name], name, is[name])
		}
	}
	for _, what := range []string{"split", "features"} {
		if seed := s.Settled[datasets.SeedOf(what)]; seed != "" && seed != fmt.Sprint(c.Seed) && !t.Resume {
			t.Console.Note("note: %s: --seed %s, with which the shards were cut, has drawn the %s; --seed %d draws weights and dropout alone",
				c.Dataset, seed, what, c.Seed)
		}
	}
	if s.Settled["standardize"] == dataset.StandardizeRows {
		c.Standardize = dataset.StandardizeRows // what the run predicts later is scaled by rows, too
	}
	c.Parts, c.Order = parts, runfolder.OrderNone
	return nil
}

// cutOptions say how a graph is cut, and nothing of parts that there are.
var cutOptions = []string{"partitioner", "partitioner.objective", "partitioner.balance", "partitioner.by", "cost", "cost.move",
	"prune", "prune.max", "prune.score"}

// noteCut says which flags say nothing, where the parts are there already.
func (t *Run) noteCut(by string) {
	var idle []string
	for _, name := range t.Given {
		if slices.Contains(cutOptions, name) {
			idle = append(idle, runfolder.Label(name))
		}
	}
	if idle != nil {
		t.Console.Note("note: without effect, as the parts are those of %s: %s", by, strings.Join(idle, ", "))
	}
}

// mapShards maps the shards of the parts of this process, of a data set that is kept in shards.
// Who writes the folder of the run reads the ids of the vertices.
func (t *Run) mapShards(ctx context.Context) error {
	if t.Ranks.Leads() {
		if err := t.Data.ReadIDs(); err != nil {
			return err
		}
	}
	return t.Data.MapShards(ctx, t.Console, t.ownParts())
}
