package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/term"
)

// option is one setting of a training run: a flag and a key of config.yaml with the same name and the same syntax.
type option struct {
	name, usage string                 // usage has the word for the value between backquotes
	group       string                 // of help
	field       func(*trainConfig) any // pointer to a string, int, uint64, float64 or bool
	fileOnly    bool                   // no flag: written by a run for its repetition
}

// Groups of options in help.
const (
	groupData     = "Data"
	groupModel    = "Model"
	groupTraining = "Training"
	groupParts    = "Devices and parts"
	groupUnequal  = "Unequal devices, and edges left out"
	groupMemory   = "Memory and arithmetic"
	groupExchange = "Rows of other parts"
	groupSavings  = "Savings that can be switched off"
	groupRun      = "Run folder"
)

const featuresUsage = "`WHAT` features vertices have: stored (those of the data set), or made from the graph: degree (one column for each in-degree), onehot (one for each vertex) or random:WIDTH, by --seed"

// options lists every setting in the order of config.yaml.
var options = []option{
	{name: "dataset", group: groupData, usage: "data set: a `NAME`, a store folder, an .npz or raw file or folder", field: func(c *trainConfig) any { return &c.Dataset }},
	{name: "dataset-path", field: func(c *trainConfig) any { return &c.DatasetPath }, fileOnly: true},
	{name: "edges", group: groupData, usage: "read edges as `KIND`: symmetric, directed or reversed; auto = as the format says", field: func(c *trainConfig) any { return &c.Edges }},
	{name: "standardize", group: groupData, usage: "`HOW` feature columns are centred and scaled: train (by the training rows) or none; auto = train for GraphSAINT folders", field: func(c *trainConfig) any { return &c.Standardize }},
	{name: "features", group: groupData, usage: featuresUsage, field: func(c *trainConfig) any { return &c.Features }},
	{name: "split", group: groupData, usage: "fractions `TRAIN,VAL,TEST` for data without a train_mask (default: 0.7,0.2,0.1), or the number of a split for heterophilous-graphs files (default: 0)", field: func(c *trainConfig) any { return &c.Split }},
	{name: "self-loops", group: groupData, usage: "`HOW` edges from a vertex to itself are treated: auto, add, keep or remove; auto removes them and adds one per vertex for gcn and gat", field: func(c *trainConfig) any { return &c.SelfLoops }},
	{name: "model", group: groupModel, usage: "`MODEL`: gcn, sage, gin or gat", field: func(c *trainConfig) any { return &c.Model }},
	{name: "layers", group: groupModel, usage: "number `N` of convolutions", field: func(c *trainConfig) any { return &c.Layers }},
	{name: "hidden", group: groupModel, usage: "total `WIDTH` of each hidden layer", field: func(c *trainConfig) any { return &c.Hidden }},
	{name: "heads", group: groupModel, usage: "number `N` of attention heads (gat)", field: func(c *trainConfig) any { return &c.Heads }},
	{name: "dropout", group: groupModel, usage: "probability `P` of dropping an activation", field: func(c *trainConfig) any { return &c.Dropout }},
	{name: "init", group: groupModel, usage: "start from the weights in `FILE` (.npz or .safetensors, state_dict names)", field: func(c *trainConfig) any { return &c.Init }},
	{name: "epochs", group: groupTraining, usage: "number `N` of epochs", field: func(c *trainConfig) any { return &c.Epochs }},
	{name: "lr", group: groupTraining, usage: "learning `RATE`", field: func(c *trainConfig) any { return &c.LR }},
	{name: "optimizer", group: groupTraining, usage: "`OPTIMIZER`: adam, adamw or sgd", field: func(c *trainConfig) any { return &c.Optimizer }},
	{name: "weight-decay", group: groupTraining, usage: "weight `DECAY`", field: func(c *trainConfig) any { return &c.WeightDecay }},
	{name: "amsgrad", group: groupTraining, usage: "AMSGrad variant of adam and adamw", field: func(c *trainConfig) any { return &c.AMSGrad }},
	{name: "seed", group: groupTraining, usage: "`SEED` of weights, dropout, splits and partitions", field: func(c *trainConfig) any { return &c.Seed }},
	{name: "eval-every", group: groupTraining, usage: "evaluate every `N` epochs; 0 = only at the end", field: func(c *trainConfig) any { return &c.EvalEvery }},
	{name: "patience", group: groupTraining, usage: "stop after `N` evaluations without a better validation score; 0 = never", field: func(c *trainConfig) any { return &c.Patience }},
	{name: "devices", group: groupParts, usage: "`LIST` such as cpu:0,cpu:1 or cpu:threads=1,mem=4GiB,cpu:threads=1,slow=3 or cuda:0,cuda:1; auto = every GPU, or one CPU device with all cores", field: func(c *trainConfig) any { return &c.Devices }},
	{name: "parts", group: groupParts, usage: "number `N` of parts, placed round-robin on the devices; 0 = one per device", field: func(c *trainConfig) any { return &c.Parts }},
	{name: "partitioner", group: groupParts, usage: "`METHOD`: multilevel, streaming or random", field: func(c *trainConfig) any { return &c.Partitioner }},
	{name: "objective", group: groupParts, usage: "`WHAT` multilevel makes small: cut (edges between parts) or volume (rows to be sent)", field: func(c *trainConfig) any { return &c.Objective }},
	{name: "balance", group: groupParts, usage: "largest `RATIO` of a part's inner vertices to its share", field: func(c *trainConfig) any { return &c.Balance }},
	{name: "balance-by", group: groupParts, usage: "what parts share out: a `LIST` of vertices, edges, train and memory (default: vertices,edges,train; for unequal devices what takes their time)", field: func(c *trainConfig) any { return &c.BalanceBy }},
	{name: "cost", group: groupUnequal, usage: "`WHAT` is balanced between unequal devices: time (of a simulated epoch) or lambda (Eq. 13); auto = lambda with --max-prune, else time", field: func(c *trainConfig) any { return &c.Cost }},
	{name: "no-move", group: groupUnequal, usage: "leave inner vertices where the partitioner put them", field: func(c *trainConfig) any { return &c.NoMove }},
	{name: "max-prune", group: groupUnequal, usage: "largest `SHARE` of the cut edges that may be left out of training to even the devices' load; 0 = none", field: func(c *trainConfig) any { return &c.MaxPrune }},
	{name: "prune", group: groupUnequal, usage: "`SHARE` of each part's cut edges that is left out of training, so that less is exchanged", field: func(c *trainConfig) any { return &c.Prune }},
	{name: "prune-score", group: groupUnequal, usage: "`WHICH` halo replicas go first: those of least weight in what is summed, influence (Eq. 16), degree, or random", field: func(c *trainConfig) any { return &c.PruneScore }},
	{name: "rescale", group: groupUnequal, usage: "scale what pruning leaves of a sum over neighbours up", field: func(c *trainConfig) any { return &c.Rescale }},
	{name: "alpha", group: groupUnequal, usage: "`WEIGHT` of sparse against dense work in the cost model (Eq. 14)", field: func(c *trainConfig) any { return &c.Alpha }},
	{name: "plan", group: groupParts, usage: "take the parts from `FILE`, made by `capgnn partition --out`", field: func(c *trainConfig) any { return &c.Plan }},
	{name: "profile", group: groupUnequal, usage: "profile `FILE` of the devices (default: the cached one, else a brief measurement)", field: func(c *trainConfig) any { return &c.Profile }},
	{name: "order", group: groupMemory, usage: "`ORDER` of the vertices in memory: none, community, rcm or degree; auto measures once whether community pays", field: func(c *trainConfig) any { return &c.Order }},
	{name: "storage", group: groupMemory, usage: "element `TYPE` of the rows that neighbours gather and devices exchange: fp32 or bf16; sums are fp32 either way", field: func(c *trainConfig) any { return &c.Storage }},
	{name: "tf32", group: groupMemory, usage: "let dense products on GPUs round their operands to 10 bits of mantissa, where cuBLAS and the GPU can", field: func(c *trainConfig) any { return &c.TF32 }},
	{name: "cache", group: groupExchange, usage: "`POLICY`, which rows of other parts are kept in memory: jaca, paper, fifo, lru, sieve, random, degree, low-overlap or none", field: func(c *trainConfig) any { return &c.Cache }},
	{name: "gpu-cache", group: groupExchange, usage: "`SIZE` of each device's cache: rows (20000), a share of the rows that it could hold (20%), memory (2GiB), or auto = what memory leaves", field: func(c *trainConfig) any { return &c.GPUCache }},
	{name: "cpu-cache", group: groupExchange, usage: "`SIZE` of the cache in host memory, as --gpu-cache", field: func(c *trainConfig) any { return &c.CPUCache }},
	{name: "reserve-gpu", group: groupExchange, usage: "memory (`SIZE`) of each device that its cache leaves alone, such as 500MiB", field: func(c *trainConfig) any { return &c.ReserveGPU }},
	{name: "reserve-cpu", group: groupExchange, usage: "host memory (`SIZE`) that the cache leaves alone", field: func(c *trainConfig) any { return &c.ReserveCPU }},
	{name: "cache-topk", group: groupExchange, usage: "the `N` rows of each other part that count for the size of a part's caches, those that most parts read; 0 = all", field: func(c *trainConfig) any { return &c.CacheTopK }},
	{name: "cache-bypass", group: groupExchange, usage: "give caches up when their mean hit rate is below this `SHARE`; 0 = never", field: func(c *trainConfig) any { return &c.CacheBypass }},
	{name: "staleness", group: groupExchange, usage: "largest age of rows of other parts in `EPOCHS`: a number up to 16; auto:EPS or auto:EPS,MAX refreshes each layer's rows so often that they drift by EPS at most; gat allows only 0", field: func(c *trainConfig) any { return &c.Staleness }},
	{name: "exact-epochs", group: groupExchange, usage: "number `N` of first epochs that use only fresh rows of other parts, as weights change most then; auto = a tenth of --epochs, none with fifo, lru, sieve and adaptive staleness", field: func(c *trainConfig) any { return &c.ExactEpochs }},
	{name: "pipeline", group: groupExchange, usage: "`WHEN` rows of other parts are used one epoch after they were made, so that they travel during computation; needs --staleness: on or off; auto = on, except with fifo, lru and sieve", field: func(c *trainConfig) any { return &c.Pipeline }},
	{name: "peer", group: groupExchange, usage: "copy between devices that reach each other's memory (`WAY`): on; off = through the host", field: func(c *trainConfig) any { return &c.Peer }},
	{name: "halo-dtype", group: groupExchange, usage: "element `TYPE` of rows of other parts on their way and in the host's cache: fp32 (as stored), bf16, or int8 with a scale per row, rounded at random", field: func(c *trainConfig) any { return &c.HaloType }},
	{name: "cache-slots", field: func(c *trainConfig) any { return &c.CacheSlots }, fileOnly: true},
	{name: "cache-links", field: func(c *trainConfig) any { return &c.CacheLinks }, fileOnly: true},
	{name: "plan-key", field: func(c *trainConfig) any { return &c.PlanKey }, fileOnly: true},
	{name: "targets", field: func(c *trainConfig) any { return &c.Targets }, fileOnly: true},
	{name: "checkpoint-every", group: groupTraining, usage: "keep a checkpoint every `N` epochs; 0 = only when interrupted and at the end", field: func(c *trainConfig) any { return &c.CheckpointEvery }},
	{name: "no-precompute", group: groupSavings, usage: "aggregate the input features every epoch", field: func(c *trainConfig) any { return &c.Savings.NoPrecompute }},
	{name: "no-transform-first", group: groupSavings, usage: "always aggregate before transforming", field: func(c *trainConfig) any { return &c.Savings.NoTransformFirst }},
	{name: "no-sparse", group: groupSavings, usage: "make sparse features dense", field: func(c *trainConfig) any { return &c.Savings.NoSparse }},
	{name: "no-needed-rows", group: groupSavings, usage: "compute every row of every layer", field: func(c *trainConfig) any { return &c.Savings.NoNeededRows }},
	{name: "no-fold-scale", group: groupSavings, usage: "one weight per edge in place of row scales", field: func(c *trainConfig) any { return &c.Savings.NoFoldScale }},
	{name: "no-fuse", group: groupSavings, usage: "LayerNorm, ReLU and dropout as separate passes", field: func(c *trainConfig) any { return &c.Savings.NoFuse }},
	{name: "no-reuse", group: groupSavings, usage: "allocate activations anew in every epoch", field: func(c *trainConfig) any { return &c.Savings.NoReuse }},
	{name: "data-sha256", field: func(c *trainConfig) any { return &c.DataSHA256 }, fileOnly: true},
}

// set gives the option the value written as text.
func (o option) set(c *trainConfig, text string) error {
	var err error
	want := ""
	switch p := o.field(c).(type) {
	case *string:
		*p = text
	case *int:
		*p, err = strconv.Atoi(text)
		want = "a whole number"
	case *uint64:
		*p, err = strconv.ParseUint(text, 10, 64)
		want = "a whole number from 0 to 2^64-1"
	case *float64:
		*p, err = strconv.ParseFloat(text, 64)
		want = "a number"
	case *bool:
		*p, err = strconv.ParseBool(text)
		want = "true or false"
	}
	if err != nil {
		return fmt.Errorf("%s: %q is not %s", o.name, text, want)
	}
	return nil
}

// value returns the option's value as a string, int, uint64, float64 or bool.
func (o option) value(c *trainConfig) any {
	switch p := o.field(c).(type) {
	case *string:
		return *p
	case *int:
		return *p
	case *uint64:
		return *p
	case *float64:
		return *p
	case *bool:
		return *p
	}
	panic("capgnn: option " + o.name + " has a field of an unknown type")
}

// valuesOf returns the values of some options.
func valuesOf(c *trainConfig, names []string) []any {
	var out []any
	for _, o := range options {
		if slices.Contains(names, o.name) {
			out = append(out, o.value(c))
		}
	}
	return out
}

// optionFlags returns the flags of all options. The value is read through option.set, so flags and config.yaml have one
// syntax.
func optionFlags() []cli.Flag {
	defaults := defaultConfig()
	var flags []cli.Flag
	for _, o := range options {
		if o.fileOnly {
			continue
		}
		switch v := o.value(&defaults).(type) {
		case bool:
			flags = append(flags, &cli.BoolFlag{Name: o.name, Category: o.group, Usage: o.usage})
		case string:
			flags = append(flags, &cli.StringFlag{Name: o.name, Category: o.group, Usage: o.usage, DefaultText: v})
		default:
			flags = append(flags, &cli.StringFlag{Name: o.name, Category: o.group, Usage: o.usage, DefaultText: fmt.Sprint(v)})
		}
	}
	return flags
}

// applyFlags sets every option that was given on the command line and returns their names.
func applyFlags(c *cli.Context, cfg *trainConfig) ([]string, error) {
	var given []string
	for _, o := range options {
		if o.fileOnly || !c.IsSet(o.name) {
			continue
		}
		if err := o.set(cfg, fmt.Sprint(c.Value(o.name))); err != nil {
			return nil, term.Usagef("%s: --%w", c.Command.Name, err)
		}
		given = append(given, o.name)
	}
	return given, nil
}

// optionNames lists the options by name.
func optionNames() []string {
	var out []string
	for _, o := range options {
		out = append(out, o.name)
	}
	return out
}
