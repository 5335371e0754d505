package training

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/graph/dataset"
	"capgnn/internal/learn"
	"capgnn/internal/runfile"
	"capgnn/rapa"
)

// Input is what a run is given beside its settings: where it speaks, what the user called, and the data.
type Input struct {
	Console  *term.Console
	Command  string   // that the user called, for errors; "" inside another one
	Given    []string // names of the flags beside --config
	PlanFile string   // a plan that may fit, looked at before the cache; "" = none
	Resume   bool     // the run goes on from its last checkpoint
	// Anonymous says that parts are for no devices in particular, cutting that a plan is wanted even of one part. Bare
	// that there is nothing to learn from, trying that it is tried whether the run fits with more memory.
	Anonymous, cutting, Bare, trying bool

	Data      *datasets.Input // set beforehand by demo for a generated graph; else loaded
	labels    learn.Labels    // loss and scores
	sets      *runfolder.Sets // by vertex; of several ranks rank 0 has those of all
	initial   *gnn.Weights    // of --init, nil without
	initOrder [2][]int        // where its columns, and classes, stand in the data set; nil: in the same place
}

// AsUsage marks an error as caused by the user's input to the command.
func (in *Input) AsUsage(err error) error {
	if in.Command == "" {
		return term.AsUsage(err)
	}
	return term.Usagef("%s: %w", in.Command, err)
}

// metric returns by what the run chooses its best weights: what it says, or what its problem has.
func (in *Input) metric(c *runfolder.Config) learn.Metric {
	m, err := learn.Metric(c.Metric).Of(in.Data.Problem)
	if err != nil { // of a run that only makes parts
		m, _ = learn.Auto.Of(in.Data.Problem)
	}
	return m
}

// network returns the model that is trained, of settings that Load or Validate has found right.
func (in *Input) network(c *runfolder.Config) gnn.Config {
	m, _ := c.NetworkOf(in.Data.Problem)
	return m
}

// settleCriterion settles what the loss weighs, which the data has a say in.
func (in *Input) settleCriterion(c *runfolder.Config) error {
	p := in.Data.Problem
	in.labels = learn.Labels{Metric: in.metric(c), Weights: c.ClassWeights.Value.List, Smoothing: c.LabelSmoothing}
	count := p.TrainingByClass()
	if c.ClassWeights.Value.Balanced && count != nil {
		in.labels.Weights = balancedWeights(count)
		missing := 0
		for _, n := range count {
			if n == 0 {
				missing++
			}
		}
		if missing > 0 {
			in.Console.Note("note: --class-weights balanced: %d of %d classes have no training vertex, so their weight is 0",
				missing, len(count))
		}
	}
	switch w := in.labels.Weights; {
	case p.Targets != nil && (c.ClassWeights.String() != "" || c.LabelSmoothing > 0):
		return in.AsUsage(errors.New("--class-weights and --label-smoothing are for one label per vertex, " +
			"these have several: drop them"))
	case w != nil && len(w) != p.Classes:
		return in.AsUsage(fmt.Errorf("--class-weights has %d weights, the data set %d classes: give one for each",
			len(w), p.Classes))
	case w != nil && in.labels.Total(count) == 0:
		return in.AsUsage(errors.New("--class-weights: no class of a training vertex has a weight above 0"))
	}
	return nil
}

// balancedWeights returns n/(C·n_c) by class, as scikit-learn's balanced: with n of all vertices and C classes, all
// classes weigh as much together. Those without a vertex have 0, and do not count.
func balancedWeights(count []int) []float64 {
	n, classes := 0, 0
	for _, k := range count {
		if n += k; k > 0 {
			classes++
		}
	}
	w := make([]float64, len(count))
	for c, k := range count {
		if k > 0 {
			w[c] = float64(n) / (float64(classes) * float64(k))
		}
	}
	return w
}

// settlePositive settles which of two classes is the positive one of the metrics by rank: --metric positive=, else
// class 1.
func (in *Input) settlePositive(c *runfolder.Config) error {
	p, m, want := in.Data.Problem, in.metric(c), c.Positive
	if !m.OfTwo(p) {
		if want != "" {
			return fmt.Errorf("--metric positive=%s: chooses one of two classes, and %s has vertices with several labels: "+
				"drop it", want, in.Data.Name)
		}
		return nil
	}
	if want != "" {
		class := slices.Index(in.Data.Names.Classes, norm.NFC.String(want))
		if n, err := strconv.Atoi(want); class < 0 && err == nil && (n == 0 || n == 1) {
			class = n
		}
		if class < 0 {
			return fmt.Errorf("--metric positive=%s is neither of the classes %s and %s", want, in.className(0), in.className(1))
		}
		p.PositiveFirst = class == 0
		return nil
	}
	sizes := [2]int{}
	for _, of := range p.ClassSizes() {
		sizes[0], sizes[1] = sizes[0]+of[0], sizes[1]+of[1]
	}
	if share := float64(sizes[1]) / float64(max(1, sizes[0]+sizes[1])); m == learn.AveragePrecision && share > 0.5 {
		in.Console.Note("note: --metric %s is of class %s, which %s of the labelled vertices have; "+
			"--metric positive=%s takes the other one", m, in.className(1), term.Percentage(share), in.className(0))
	}
	return nil
}

// positive is what the positive class of two is called; "": the metric has none.
func (in *Input) positive(c *runfolder.Config) string {
	if !in.metric(c).OfTwo(in.Data.Problem) {
		return ""
	}
	return in.className(in.Data.Problem.Positive())
}

// className is what a class is called: its name, else its number.
func (in *Input) className(class int) string {
	if names := in.Data.Names.Classes; class < len(names) {
		return names[class]
	}
	return strconv.Itoa(class)
}

// shape returns what the data set looks like, nil where it is not known here.
func (in *Input) shape() *runfile.Data {
	p := in.Data.Problem
	if in.Data.Degrees == nil {
		return nil
	}
	s := &runfile.Data{Degrees: in.Data.Degrees}
	if p.Classes <= learn.MaxClasses {
		s.Classes = p.ClassSizes()
	}
	return s
}

// shareSets settles the training, validation and test vertices that the folder of the run keeps. Of several ranks on
// shards each knows those of its own vertices: rank 0 gets them all.
func (in *Input) shareSets(ctx context.Context, m *ranks.Members) error {
	p := in.Data.Problem
	masks := [3][]bool{p.Train, p.Val, p.Test}
	if p.Shards != nil {
		var own [3][]byte
		for i, mask := range masks {
			own[i] = packed(mask)
		}
		all, err := ranks.AtFirst(ctx, m, own)
		if err != nil {
			return err
		}
		masks = [3][]bool{}
		for _, of := range all {
			for i, bits := range of {
				masks[i] = unpacked(masks[i], bits, p.Vertices())
			}
		}
	}
	for i, mask := range masks {
		if mask == nil {
			masks[i] = make([]bool, p.Vertices())
		}
	}
	in.sets = &runfolder.Sets{Train: masks[0], Val: masks[1], Test: masks[2], IDs: in.Data.IDs, Names: in.Data.VertexNames}
	return nil
}

// packed returns a mask in bits.
func packed(mask []bool) []byte {
	bits := make([]byte, (len(mask)+7)/8)
	for v, in := range mask {
		if in {
			bits[v/8] |= 1 << (v % 8)
		}
	}
	return bits
}

// unpacked adds to a mask of n vertices, nil none, what packed returned.
func unpacked(mask []bool, bits []byte, n int) []bool {
	if mask == nil {
		mask = make([]bool, n)
	}
	for v := range min(n, 8*len(bits)) {
		mask[v] = mask[v] || bits[v/8]>>(v%8)&1 == 1
	}
	return mask
}

// noteSets says what there is no score of, what chooses the best weights where validation has no score, and which
// settings then have no effect.
func (in *Input) noteSets(c *runfolder.Config) {
	if !slices.Contains(in.sets.Test, true) {
		in.Console.Note("note: %s has no test vertices: there is no test score", in.Data.Name)
	}
	for _, note := range in.Data.LabelNotes() {
		in.Console.Note("note: %s", note)
	}
	p, has, lacks := in.Data.Problem, slices.Contains(in.sets.Val, true), "no validation vertices"
	if has && !c.BestByLoss() && !in.metric(c).Scores(p, p.Val) {
		has, lacks = false, "validation vertices that have no "+string(in.metric(c))
	} else if has && p.Shards == nil && !learn.Auto.Scores(p, p.Val) {
		has, lacks = false, "validation vertices without labels"
	}
	if has {
		return
	}
	var idle []string
	if c.BestByLoss() {
		idle = append(idle, "--metric best-by="+c.BestBy)
	}
	if c.Patience > 0 {
		idle = append(idle, fmt.Sprintf("--patience %d", c.Patience))
	}
	text := ""
	switch len(idle) {
	case 1:
		text = "; " + idle[0] + " has no effect"
	case 2:
		text = "; " + strings.Join(idle, " and ") + " have no effect"
	}
	in.Console.Note("note: %s has %s: the last weights count as the best%s", in.Data.Name, lacks, text)
}

// settleShards settles what the shards of a data set decide: the parts, and that their rows lie in the order of the
// vertices. It refuses what says something else.
func (in *Input) settleShards(c *runfolder.Config, several bool) error {
	s := in.Data.Shards
	if s == nil {
		return nil
	}
	refuse := func(format string, a ...any) error {
		return term.Usagef("--dataset %s: a folder of shards: "+format, append([]any{c.Dataset}, a...)...)
	}
	parts := len(s.Plan.Parts)
	switch {
	case !several && in.Command != "train":
		return refuse("only `capgnn train` and `capgnn predict` take it: name the data set itself")
	case c.Isolated.Value != nil:
		return refuse("isolated parts take turns with chunks of the whole graph: " +
			"name the data set itself, or drop --isolated")
	case !c.Sampled() && (c.ClassWeights.String() != "" || c.LabelSmoothing > 0):
		return refuse("the loss would be weighed by labels of all machines: " +
			"name the data set itself, or drop --class-weights and --label-smoothing")
	case c.Plan != "" && !in.Resume:
		return refuse("it has the parts already: drop --plan %s", c.Plan)
	case c.Partitioner != string(rapa.Methods[0]) && !in.Resume:
		return refuse("it is cut already: drop --partitioner %s", c.Partitioner)
	case c.Machines.Value != nil && !in.Resume:
		return refuse("it is cut for machines already: drop --machines %s", c.Machines)
	case c.Prune > 0 || c.MaxPrune > 0:
		return refuse("edges are left out before it is cut, if at all: drop --prune")
	case c.Parts != 0 && c.Parts != parts:
		return refuse("it has %s: drop --parts %d, or cut the data set anew", term.Counted(parts, "part"), c.Parts)
	case c.Order != runfolder.OrderAuto && c.Order != runfolder.OrderNone:
		return refuse("rows lie in the order of the vertices: drop --order %s", c.Order)
	case c.PlanKey != "" && c.PlanKey != s.Plan.Key:
		return refuse("it is cut by plan %.12s, the settings are of a run by plan %.12s: name the shards of that plan",
			s.Plan.Key, c.PlanKey)
	}
	standard := runfolder.Default()
	is, usual := datasets.Settled(c), datasets.Settled(&standard)
	for _, name := range datasets.SettledByShards {
		if is[name] != s.Settled[name] && (is[name] != usual[name] || slices.Contains(in.Given, name)) {
			return refuse("it was cut with --%s %q: drop --%s %s", name, s.Settled[name], name, is[name])
		}
	}
	for _, what := range []string{"split", "features"} {
		if seed := s.Settled[datasets.SeedOf(what)]; seed != "" && seed != fmt.Sprint(c.Seed) && !in.Resume {
			in.Console.Note("note: %s: --seed %s, with which the shards were cut, has drawn the %s; "+
				"--seed %d draws weights and dropout alone", c.Dataset, seed, what, c.Seed)
		}
	}
	if s.Settled["standardize"] == dataset.StandardizeRows {
		c.Standardize = dataset.StandardizeRows // what the run predicts later is scaled by rows, too
	}
	c.Parts, c.Order = parts, runfolder.OrderNone
	return nil
}

// cutOptions say how a graph is cut, and nothing of parts that there are.
var cutOptions = []string{"partitioner", "partitioner.objective", "partitioner.balance", "partitioner.by", "cost",
	"cost.move", "prune", "prune.max", "prune.score"}

// noteCut says which flags say nothing, where the parts are there already.
func (in *Input) noteCut(by string) {
	var idle []string
	for _, name := range in.Given {
		if slices.Contains(cutOptions, name) {
			idle = append(idle, runfolder.Label(name))
		}
	}
	if idle != nil {
		in.Console.Note("note: without effect, as the parts are those of %s: %s", by, strings.Join(idle, ", "))
	}
}

// stepsPerEpoch returns how many steps an epoch has.
func (in *Input) stepsPerEpoch(c *runfolder.Config) int {
	n := in.Data.Problem.TrainingVertices()
	return max(1, (n+c.BatchSize-1)/c.BatchSize)
}
