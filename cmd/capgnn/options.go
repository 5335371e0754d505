package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"
)

// option is one setting of a training run: a flag and a key of config.yaml with the same name and the same syntax.
type option struct {
	name, usage string
	field       func(*trainConfig) any // pointer to a string, int, uint64, float64 or bool
	fileOnly    bool                   // no flag: written by a run for its repetition
}

// options lists every setting in the order of config.yaml.
var options = []option{
	{name: "dataset", usage: "data set: a `NAME`, a store folder, an .npz or raw file or folder", field: func(c *trainConfig) any { return &c.Dataset }},
	{name: "dataset-path", field: func(c *trainConfig) any { return &c.DatasetPath }, fileOnly: true},
	{name: "edges", usage: "read edges as symmetric, directed or reversed; auto = as the format says", field: func(c *trainConfig) any { return &c.Edges }},
	{name: "standardize", usage: "centre and scale feature columns by the training rows: train or none; auto = train for GraphSAINT folders", field: func(c *trainConfig) any { return &c.Standardize }},
	{name: "split", usage: "fractions `TRAIN,VAL,TEST` for data without a train_mask (default: 0.7,0.2,0.1), or the number of a split for heterophilous-graphs files (default: 0)", field: func(c *trainConfig) any { return &c.Split }},
	{name: "self-loops", usage: "auto, add, keep or remove; auto removes them and adds one per vertex for gcn and gat", field: func(c *trainConfig) any { return &c.SelfLoops }},
	{name: "model", usage: "gcn, sage, gin or gat", field: func(c *trainConfig) any { return &c.Model }},
	{name: "layers", usage: "number of convolutions", field: func(c *trainConfig) any { return &c.Layers }},
	{name: "hidden", usage: "total width of each hidden layer", field: func(c *trainConfig) any { return &c.Hidden }},
	{name: "heads", usage: "attention heads (gat)", field: func(c *trainConfig) any { return &c.Heads }},
	{name: "dropout", usage: "probability of dropping an activation", field: func(c *trainConfig) any { return &c.Dropout }},
	{name: "init", usage: "start from the weights in `FILE` (.npz or .safetensors, state_dict names)", field: func(c *trainConfig) any { return &c.Init }},
	{name: "epochs", usage: "number of epochs", field: func(c *trainConfig) any { return &c.Epochs }},
	{name: "lr", usage: "learning rate", field: func(c *trainConfig) any { return &c.LR }},
	{name: "optimizer", usage: "adam, adamw or sgd", field: func(c *trainConfig) any { return &c.Optimizer }},
	{name: "weight-decay", usage: "weight decay", field: func(c *trainConfig) any { return &c.WeightDecay }},
	{name: "amsgrad", usage: "AMSGrad variant of adam and adamw", field: func(c *trainConfig) any { return &c.AMSGrad }},
	{name: "seed", usage: "seed of weights, dropout, splits and partitions", field: func(c *trainConfig) any { return &c.Seed }},
	{name: "eval-every", usage: "epochs between evaluations; 0 = only at the end", field: func(c *trainConfig) any { return &c.EvalEvery }},
	{name: "patience", usage: "stop after this many evaluations without a better validation score; 0 = never", field: func(c *trainConfig) any { return &c.Patience }},
	{name: "devices", usage: "`LIST` such as cpu:0,cpu:1 or cpu:threads=1,mem=4GiB,cpu:threads=1,slow=3 or cuda:0,cuda:1; auto = every GPU, or one CPU device with all cores", field: func(c *trainConfig) any { return &c.Devices }},
	{name: "parts", usage: "number of parts, placed round-robin on the devices; 0 = one per device", field: func(c *trainConfig) any { return &c.Parts }},
	{name: "partitioner", usage: "multilevel, streaming or random", field: func(c *trainConfig) any { return &c.Partitioner }},
	{name: "objective", usage: "what multilevel makes small: cut (edges between parts) or volume (rows to be sent)", field: func(c *trainConfig) any { return &c.Objective }},
	{name: "balance", usage: "largest number of inner vertices of a part over its share", field: func(c *trainConfig) any { return &c.Balance }},
	{name: "balance-by", usage: "what parts share out: a `LIST` of vertices, edges, train and memory (default: vertices,edges,train; for unequal devices what takes their time)", field: func(c *trainConfig) any { return &c.BalanceBy }},
	{name: "cost", usage: "what unequal devices are evened by: time (of a simulated epoch) or lambda (Eq. 13); auto = lambda with --max-prune, else time", field: func(c *trainConfig) any { return &c.Cost }},
	{name: "no-move", usage: "leave inner vertices where the partitioner put them", field: func(c *trainConfig) any { return &c.NoMove }},
	{name: "max-prune", usage: "largest share of the cut edges that may be left out of training to even the devices' load; 0 = none", field: func(c *trainConfig) any { return &c.MaxPrune }},
	{name: "prune", usage: "share of each part's cut edges that is left out of training, so that less is exchanged", field: func(c *trainConfig) any { return &c.Prune }},
	{name: "prune-score", usage: "which halo replicas go first: those of least weight in what is summed, influence (Eq. 16), degree, or random", field: func(c *trainConfig) any { return &c.PruneScore }},
	{name: "rescale", usage: "scale what pruning leaves of a sum over neighbours up", field: func(c *trainConfig) any { return &c.Rescale }},
	{name: "alpha", usage: "weight of sparse against dense work in the cost model (Eq. 14)", field: func(c *trainConfig) any { return &c.Alpha }},
	{name: "plan", usage: "take the parts from `FILE`, made by `capgnn partition --out`", field: func(c *trainConfig) any { return &c.Plan }},
	{name: "profile", usage: "profile `FILE` of the devices (default: the cached one, else a quick measurement)", field: func(c *trainConfig) any { return &c.Profile }},
	{name: "order", usage: "order of the vertices in memory: none, community, rcm or degree; auto measures once whether community pays", field: func(c *trainConfig) any { return &c.Order }},
	{name: "storage", usage: "element type of the rows that neighbours gather and devices exchange: fp32 or bf16; sums are fp32 either way", field: func(c *trainConfig) any { return &c.Storage }},
	{name: "tf32", usage: "let dense products on GPUs round their operands to 10 bits of mantissa, where cuBLAS and the GPU can", field: func(c *trainConfig) any { return &c.TF32 }},
	{name: "cache", usage: "which rows of other parts are kept in memory: jaca, paper, fifo, lru, sieve, random, degree, low-overlap or none", field: func(c *trainConfig) any { return &c.Cache }},
	{name: "gpu-cache", usage: "`SIZE` of each device's cache: rows (20000), a share of the rows that it could hold (20%), memory (2GiB), or auto = what memory leaves", field: func(c *trainConfig) any { return &c.GPUCache }},
	{name: "cpu-cache", usage: "`SIZE` of the cache in host memory, as --gpu-cache", field: func(c *trainConfig) any { return &c.CPUCache }},
	{name: "reserve-gpu", usage: "memory of each device that its cache leaves alone, such as 500MiB", field: func(c *trainConfig) any { return &c.ReserveGPU }},
	{name: "reserve-cpu", usage: "host memory that the cache leaves alone", field: func(c *trainConfig) any { return &c.ReserveCPU }},
	{name: "cache-topk", usage: "rows of each other part that count for the size of a part's caches, those that most parts read; 0 = all", field: func(c *trainConfig) any { return &c.CacheTopK }},
	{name: "cache-bypass", usage: "give caches up when their mean hit rate is below this `SHARE`; 0 = never", field: func(c *trainConfig) any { return &c.CacheBypass }},
	{name: "staleness", usage: "epochs that rows of other parts may be old: a number up to 16; auto:EPS or auto:EPS,MAX refreshes each layer's rows so often that they drift by EPS at most", field: func(c *trainConfig) any { return &c.Staleness }},
	{name: "exact-epochs", usage: "epochs at first in which rows of other parts are not old, as weights move most then; auto = a tenth of --epochs, none with fifo, lru, sieve and adaptive staleness", field: func(c *trainConfig) any { return &c.ExactEpochs }},
	{name: "pipeline", usage: "use rows of other parts from the epoch on that follows the one that made them, where staleness allows: on or off; auto = on, but for fifo, lru and sieve", field: func(c *trainConfig) any { return &c.Pipeline }},
	{name: "peer", usage: "copy between devices that reach each other's memory: on; off = through the host", field: func(c *trainConfig) any { return &c.Peer }},
	{name: "halo-dtype", usage: "what rows of other parts look like on their way and in the host's cache: fp32 (as stored), bf16, or int8 with a scale per row, rounded at random", field: func(c *trainConfig) any { return &c.HaloType }},
	{name: "cache-slots", field: func(c *trainConfig) any { return &c.CacheSlots }, fileOnly: true},
	{name: "cache-links", field: func(c *trainConfig) any { return &c.CacheLinks }, fileOnly: true},
	{name: "plan-key", field: func(c *trainConfig) any { return &c.PlanKey }, fileOnly: true},
	{name: "targets", field: func(c *trainConfig) any { return &c.Targets }, fileOnly: true},
	{name: "checkpoint-every", usage: "epochs between checkpoints; 0 = only when interrupted and at the end", field: func(c *trainConfig) any { return &c.CheckpointEvery }},
	{name: "no-precompute", usage: "aggregate the input features every epoch", field: func(c *trainConfig) any { return &c.Savings.NoPrecompute }},
	{name: "no-transform-first", usage: "always aggregate before transforming", field: func(c *trainConfig) any { return &c.Savings.NoTransformFirst }},
	{name: "no-sparse", usage: "make sparse features dense", field: func(c *trainConfig) any { return &c.Savings.NoSparse }},
	{name: "no-needed-rows", usage: "compute every row of every layer", field: func(c *trainConfig) any { return &c.Savings.NoNeededRows }},
	{name: "no-fold-scale", usage: "one weight per edge in place of row scales", field: func(c *trainConfig) any { return &c.Savings.NoFoldScale }},
	{name: "no-fuse", usage: "LayerNorm, ReLU and dropout as separate passes", field: func(c *trainConfig) any { return &c.Savings.NoFuse }},
	{name: "no-reuse", usage: "allocate activations anew in every epoch", field: func(c *trainConfig) any { return &c.Savings.NoReuse }},
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
			flags = append(flags, &cli.BoolFlag{Name: o.name, Usage: o.usage})
		case string:
			flags = append(flags, &cli.StringFlag{Name: o.name, Usage: o.usage, DefaultText: v})
		default:
			flags = append(flags, &cli.StringFlag{Name: o.name, Usage: o.usage, DefaultText: fmt.Sprint(v)})
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
			return nil, usagef("train: --%w", err)
		}
		given = append(given, o.name)
	}
	return given, nil
}
