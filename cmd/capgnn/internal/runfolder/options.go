package runfolder

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// Option is one setting of a training run: a flag and a key of config.yaml with the same name and the same syntax.
type Option struct {
	Name, usage string            // usage has the word for the value between backquotes
	Group       string            // of help
	Everyday    bool              // help says it before it is asked for all
	field       func(*Config) any // pointer to a string, int, uint64, float64, bool, Cadence or WeightDecay, or a textSetting
	FileOnly    bool              // no flag: written by a run for its repetition
	alone       bool              // the flag may stand without a value, which means true
	Sampled     bool              // says nothing of full-batch runs, whose files do not have it
}

// metricOption says what is scored, positiveOption of which class, bestByOption what of validation chooses the best weights.
const (
	metricOption   = "metric"
	positiveOption = "positive"
	bestByOption   = "best-by"
	bestByMetric   = "metric"
	bestByLoss     = "loss"
)

// begunEpochs are the epochs of a run before --resume made it longer.
const begunEpochs = "begun-epochs"

// clipNorm limits the norm of the gradient.
const clipNorm = "clip-norm"

// Groups of options in help.
const (
	GroupData     = "Data"
	GroupModel    = "Model"
	GroupTraining = "Training"
	GroupSampling = "Sampled training"
	GroupParts    = "Devices and parts"
	groupUnequal  = "Unequal devices, and edges left out"
	groupMemory   = "Memory and arithmetic"
	GroupExchange = "Rows of other parts"
	GroupRun      = "Run folder"
)

// FeaturesUsage is the help of --features.
const FeaturesUsage = "`WHAT` features vertices have: stored (those of the data set), or made from the graph: degree (one column for each in-degree), onehot (one for each vertex) or random:WIDTH, by --seed"

// teleport is how much of H⁰ layers add.
const teleport = "teleport"

// ignoreWeights has edges read as if they had no weights; IgnoreWeightsUsage is its help.
const (
	ignoreWeights      = "ignore-weights"
	IgnoreWeightsUsage = "read edges as if they had no weights"
)

// Options lists every setting in the order of config.yaml.
var Options = []Option{
	{Name: "dataset", Everyday: true, Group: GroupData, usage: "data set: a `NAME`, store folder, file or folder", field: func(c *Config) any { return &c.Dataset }},
	{Name: "dataset-path", field: func(c *Config) any { return &c.DatasetPath }, FileOnly: true},
	{Name: "edges", Group: GroupData, usage: "read edges as `KIND`: symmetric, directed or reversed; auto = as the format says", field: func(c *Config) any { return &c.Edges }},
	{Name: "standardize", Group: GroupData, usage: "`HOW` features are scaled: train (columns are centred and scaled by the training rows), rows (each row is divided by the sum of its absolute values) or none; auto = train for GraphSAINT folders", field: func(c *Config) any { return &c.Standardize }},
	{Name: "features", Group: GroupData, usage: FeaturesUsage, field: func(c *Config) any { return &c.Features }},
	{Name: ignoreWeights, Group: GroupData, usage: IgnoreWeightsUsage, field: func(c *Config) any { return &c.IgnoreWeights }},
	{Name: "split", Everyday: true, Group: GroupData, usage: SplitUsage + " (default: 0.7,0.2,0.1, or split 0)", field: func(c *Config) any { return readBy(&c.Split, ParseSplit) }},
	{Name: allowOverlap, Group: GroupData, usage: AllowOverlapUsage, field: func(c *Config) any { return &c.AllowOverlap }},
	{Name: "self-loops", Group: GroupData, usage: "`HOW` edges from a vertex to itself are treated: auto, add, keep or remove; auto removes them for sage and gin, and for other models adds one to each vertex that has none", field: func(c *Config) any { return &c.SelfLoops }},
	{Name: "model", Everyday: true, Group: GroupModel, usage: "`MODEL`: gcn, sage, gin, gat, gatv2, sgc, appnp or gcnii", field: func(c *Config) any { return &c.Model }},
	{Name: "layers", Everyday: true, Group: GroupModel, usage: "number `N` of convolutions; of propagations of sgc and appnp", field: func(c *Config) any { return &c.Layers }},
	{Name: "hidden", Everyday: true, Group: GroupModel, usage: "total `WIDTH` of each hidden layer; sgc has none", field: func(c *Config) any { return &c.Hidden }},
	{Name: "heads", Everyday: true, Group: GroupModel, usage: "number `N` of attention heads (gat, gatv2)", field: func(c *Config) any { return &c.Heads }},
	{Name: teleport, Group: GroupModel, usage: "`SHARE` of a vertex's own first representation in what each layer sums, 0 to 1: α of appnp and gcnii", field: func(c *Config) any { return &c.Teleport }},
	{Name: "theta", Group: GroupModel, usage: "strength `THETA` of the weights of gcnii: layer l = 1, 2, ... mixes log(THETA/l + 1) of its weight with the identity", field: func(c *Config) any { return &c.Theta }},
	{Name: normOption, Everyday: true, Group: GroupModel, usage: normUsage, field: func(c *Config) any { return &c.Norm }},
	{Name: residualOption, Group: GroupModel, usage: residualUsage, field: func(c *Config) any { return &c.Residual }},
	{Name: jkOption, Group: GroupModel, usage: jkUsage, field: func(c *Config) any { return &c.JK }},
	{Name: activationOption, Group: GroupModel, usage: activationUsage, field: func(c *Config) any { return &c.Activation }},
	{Name: "dropout", Everyday: true, Group: GroupModel, usage: "probability `P` of dropping an activation; also a feature with --drop-features, and always in appnp and gcnii; sgc drops nothing", field: func(c *Config) any { return &c.Dropout }},
	{Name: dropFeaturesOption, Group: GroupModel, usage: dropFeaturesUsage, field: func(c *Config) any { return &c.DropFeatures }},
	{Name: "init", Group: GroupModel, usage: "start from the weights in `FILE` (.npz or .safetensors, state_dict names)", field: func(c *Config) any { return &c.Init }},
	{Name: "epochs", Everyday: true, Group: GroupTraining, usage: "number `N` of epochs; with --batch-size the default is 30", field: func(c *Config) any { return &c.Epochs }},
	{Name: begunEpochs, field: func(c *Config) any { return &c.BegunEpochs }, FileOnly: true},
	{Name: "lr", Everyday: true, Group: GroupTraining, usage: "learning `RATE`", field: func(c *Config) any { return &c.LR }},
	{Name: scheduleOption, Group: GroupTraining, usage: scheduleUsage, field: func(c *Config) any { return readBy(&c.Schedule, parseSchedule) }},
	{Name: "optimizer", Group: GroupTraining, usage: "`OPTIMIZER`: adam, adamw or sgd", field: func(c *Config) any { return &c.Optimizer }},
	{Name: weightDecayOption, Everyday: true, Group: GroupTraining, usage: weightDecayUsage, field: func(c *Config) any { return &c.WeightDecay }},
	{Name: "amsgrad", Group: GroupTraining, usage: "AMSGrad variant of adam and adamw", field: func(c *Config) any { return &c.AMSGrad }},
	{Name: classWeights, Group: GroupTraining, usage: "weights of classes in the loss: balanced (the same total weight for each class), a list such as 1,2.5,1, or a `FILE` with one weight per line", field: func(c *Config) any { return readBy(&c.ClassWeights, parseClassWeights) }},
	{Name: labelSmoothing, Group: GroupTraining, usage: "`SHARE` of each vertex's target that is spread over all classes, 0 to below 1", field: func(c *Config) any { return &c.LabelSmoothing }},
	{Name: clipNorm, Group: GroupTraining, usage: "largest `NORM` of the gradient: a larger gradient is scaled down to it before the step; 0 = no limit", field: func(c *Config) any { return &c.ClipNorm }},
	{Name: "seed", Everyday: true, Group: GroupTraining, usage: "`SEED` of weights, dropout, splits and partitions", field: func(c *Config) any { return &c.Seed }},
	{Name: "eval-every", Group: GroupTraining, usage: "evaluate every `N` epochs; with --batch-size the default is 1; 0 = only at the end", field: func(c *Config) any { return &c.EvalEvery }},
	{Name: "patience", Everyday: true, Group: GroupTraining, usage: "stop after `N` evaluations without better weights, see --best-by; 0 = never", field: func(c *Config) any { return &c.Patience }},
	{Name: metricOption, Everyday: true, Group: GroupTraining, usage: "`SCORE`: accuracy, micro-f1, macro-f1, roc-auc or average-precision; accuracy is of one label per vertex, micro-f1 of several, the last two of two classes or several labels; auto = accuracy or micro-f1", field: func(c *Config) any { return &c.Metric }},
	{Name: positiveOption, Group: GroupTraining, usage: "the positive `CLASS` of roc-auc and average-precision over two classes, by its name or number (default: class 1)", field: func(c *Config) any { return &c.Positive }},
	{Name: bestByOption, Group: GroupTraining, usage: "choose the best weights, and stop by --patience, by `WHAT` of validation: metric (the highest score of --metric) or loss (the least loss)", field: func(c *Config) any { return &c.BestBy }},
	{Name: batchSize, Everyday: true, Group: GroupSampling, usage: "train on mini-batches of `N` seed vertices, over all parts together; 0 = full batch", Sampled: true, field: func(c *Config) any { return &c.BatchSize }},
	{Name: fanOut, Everyday: true, Group: GroupSampling, usage: "how many neighbours each vertex samples: a `LIST`, one for each layer, nearest the seed vertices first, such as 15,10,5; all = every neighbour; with --sampler ladies how many vertices a layer draws (default: 15,10,5,5,...; the last one is all where features are summed once before training: not with gat, gatv2, appnp or gcnii, with --drop-features, or with sparse features; with --sampler ladies --batch-size in place of these numbers)", Sampled: true, field: func(c *Config) any { return readBy(&c.Fanout, parseFanout) }},
	{Name: sampler, Group: GroupSampling, usage: "`HOW` neighbours are sampled: neighbor (each vertex draws some of its own) or ladies (each layer draws vertices for all that it computes, by importance; not with gat, gatv2 or --isolated)", Sampled: true, field: func(c *Config) any { return &c.Sampler }},
	{Name: evalFanout, Group: GroupSampling, usage: "estimate scores: fan-outs (`LIST`) of evaluation, written as for --fanout (default: all neighbours, scores are exact)", Sampled: true, field: func(c *Config) any { return readBy(&c.EvalFanout, parseFanout) }},
	{Name: sampling, Group: GroupSampling, usage: samplingUsage, Sampled: true, field: func(c *Config) any { return readBy(&c.Sampling, parseSampling) }},
	{Name: rowCache, Group: GroupSampling, usage: "`SIZE` of each part's cache for rows of other parts, in host memory: rows (20000), a share of those that an epoch reads (15%), memory (2GiB), or auto = half of what memory leaves, with rapidgnn 15%", Sampled: true, field: func(c *Config) any { return readBy(&c.RowCache, parseRowCache) }},
	{Name: "devices", Everyday: true, Group: GroupParts, usage: "`LIST` such as cpu:0,cpu:1 or cuda:0,mem=8GiB,cuda:1; slow=3 behind a CPU device makes it 3 times as slow; auto = every GPU, or one CPU device with all cores", field: func(c *Config) any { return &c.Devices }},
	{Name: "parts", Everyday: true, Group: GroupParts, usage: "number `N` of parts of the graph; they are placed round-robin on the devices; 0 = one per device", field: func(c *Config) any { return &c.Parts }},
	{Name: "partitioner", Group: GroupParts, usage: "`METHOD`: multilevel, streaming or random", field: func(c *Config) any { return &c.Partitioner }},
	{Name: "objective", Group: GroupParts, usage: "`WHAT` multilevel makes small: cut (edges between parts) or volume (rows to be sent)", field: func(c *Config) any { return &c.Objective }},
	{Name: machinesOption, Group: GroupParts, usage: "cut the graph for machines first, then each machine's share: `LIST` of how many parts each has, such as 4,4, or how many machines there are (default: the hosts of the ranks)", field: func(c *Config) any { return readBy(&c.Machines, parseMachines) }},
	{Name: NetOption, Group: GroupParts, usage: "`RATE` of the network between machines, for forecasts: RATE or RATE,LATENCY such as 10Gbit/s or 1Gbit/s,100us, or the file that `capgnn profile --cluster` wrote (default: forecasts count no time for the network)", field: func(c *Config) any { return readBy(&c.Net, parseNet) }},
	{Name: "balance", Group: GroupParts, usage: "largest `RATIO` of a part's inner vertices to its share", field: func(c *Config) any { return &c.Balance }},
	{Name: "balance-by", Group: GroupParts, usage: "what parts share out: a `LIST` of vertices, edges, train and memory (default: vertices,edges,train; of partition with --parts alone vertices; for unequal devices what takes their time)", field: func(c *Config) any { return &c.BalanceBy }},
	{Name: "cost", Group: groupUnequal, usage: "`WHAT` is balanced between unequal devices: time (of a simulated epoch) or lambda (Eq. 13); auto = lambda with --max-prune, else time", field: func(c *Config) any { return &c.Cost }},
	{Name: "no-move", Group: groupUnequal, usage: "leave inner vertices where the partitioner put them", field: func(c *Config) any { return &c.NoMove }},
	{Name: "max-prune", Group: groupUnequal, usage: "largest `SHARE` of the cut edges that may be left out of training to balance the devices' load; 0 = none", field: func(c *Config) any { return &c.MaxPrune }},
	{Name: "prune", Group: groupUnequal, usage: "`SHARE` of each part's cut edges that is left out of training, so that less is exchanged", field: func(c *Config) any { return &c.Prune }},
	{Name: "prune-score", Group: groupUnequal, usage: "`WHICH` halo replicas go first: those of least weight in what is summed, or influence (Eq. 16)", field: func(c *Config) any { return &c.PruneScore }},
	{Name: "alpha", Group: groupUnequal, usage: "`WEIGHT` of sparse against dense work in the cost model (Eq. 14)", field: func(c *Config) any { return &c.Alpha }},
	{Name: "plan", Group: GroupParts, usage: "take the parts from `FILE`, made by `capgnn partition --out`", field: func(c *Config) any { return &c.Plan }},
	{Name: "profile", Group: groupUnequal, usage: "profile `FILE` of the devices (default: the cached one, else a brief measurement)", field: func(c *Config) any { return &c.Profile }},
	{Name: "order", Group: groupMemory, usage: "`ORDER` of the vertices in memory: none or community; auto measures once whether community pays", field: func(c *Config) any { return &c.Order }},
	{Name: "storage", Everyday: true, Group: groupMemory, usage: "element `TYPE` of rows in memory: fp32 or bf16. Neighbours gather and devices exchange these. Sums are fp32 with both. With bf16, a GPU that has cuBLAS also rounds the operands of dense products to bf16", field: func(c *Config) any { return &c.Storage }},
	{Name: "tf32", Group: groupMemory, usage: "let dense products on GPUs round their operands to 10 bits of mantissa, where cuBLAS and the GPU can", field: func(c *Config) any { return &c.TF32 }},
	{Name: "cache", Group: GroupExchange, usage: "`POLICY`, which rows of other parts are kept in memory: jaca, paper (Algorithm 1 as printed) or none", field: func(c *Config) any { return &c.Cache }},
	{Name: gpuCache, Group: GroupExchange, usage: "`SIZE` of each device's cache: rows (20000), a share of the rows that it could hold (20%), memory (2GiB), or auto = what memory leaves; with --batch-size each GPU keeps feature rows of its own part, at most so many, and not more than memory leaves", field: func(c *Config) any { return readBy(&c.GPUCache, jaca.ParseSize) }},
	{Name: "cpu-cache", Group: GroupExchange, usage: "`SIZE` of the cache in host memory, as --gpu-cache", field: func(c *Config) any { return readBy(&c.CPUCache, jaca.ParseSize) }},
	{Name: "reserve-gpu", Group: GroupExchange, usage: "memory (`SIZE`) of each device that its cache leaves alone, such as 500MiB", field: func(c *Config) any { return readBy(&c.ReserveGPU, parseReserve) }},
	{Name: "reserve-cpu", Group: GroupExchange, usage: "host memory (`SIZE`) that the cache leaves alone", field: func(c *Config) any { return readBy(&c.ReserveCPU, parseReserve) }},
	{Name: "cache-topk", Group: GroupExchange, usage: "size a part's caches by `N` rows of each other part, those that most parts read; 0 = by all rows", field: func(c *Config) any { return &c.CacheTopK }},
	{Name: "staleness", Everyday: true, Group: GroupExchange, usage: "largest age of rows of other parts, `N` epochs up to 16; 0 = all rows are of the epoch that uses them", field: func(c *Config) any { return &c.Staleness }},
	{Name: StaleLayers, Group: GroupExchange, usage: "layers `LIST` whose rows of other parts may be stale, such as 1,2 (layer 0 always reads fresh rows), none, or wide = those whose output is wide; auto = those by which a forecast epoch gets faster, on CPU devices without link= wide", field: func(c *Config) any { return readBy(&c.StaleLayers, parseLayers) }},
	{Name: "exact-epochs", Group: GroupExchange, usage: "number `N` of first epochs that use only fresh rows of other parts, as weights change most then; auto = a tenth of --epochs", field: func(c *Config) any { return readBy(&c.ExactEpochs, parseExactEpochs) }},
	{Name: "pipeline", Group: GroupExchange, usage: "`WHEN` rows of other parts are used one epoch after they were made, so that they travel during computation; needs --staleness: on or off", field: func(c *Config) any { return &c.Pipeline }},
	{Name: "peer", Group: GroupExchange, usage: "copy between devices that reach each other's memory (`WAY`): on; off = through the host", field: func(c *Config) any { return &c.Peer }},
	{Name: HaloDtype, Everyday: true, Group: GroupExchange, usage: "element `TYPE` of rows of other parts on their way: fp32, bf16, int8 or int2; fp32 = as stored, int8 and int2 have a scale per row and round at random; rows in the cache of the host have it, too", field: func(c *Config) any { return readBy(&c.HaloType, halo.ParseEncoding) }},
	{Name: isolated, Group: GroupExchange, usage: isolatedUsage, field: func(c *Config) any { return readBy(&c.Isolated, parseIsolated) }, alone: true},
	{Name: "cache-slots", field: func(c *Config) any { return readBy(&c.CacheSlots, parseSlots) }, FileOnly: true},
	{Name: CacheLayers, field: func(c *Config) any { return readBy(&c.CacheLayers, parseLayers) }, FileOnly: true},
	{Name: "cache-links", field: func(c *Config) any { return readBy(&c.CacheLinks, parseLinks) }, FileOnly: true},
	{Name: merged, field: func(c *Config) any { return readBy(&c.Merged, parseMerged) }, FileOnly: true, Sampled: true},
	{Name: "plan-key", field: func(c *Config) any { return &c.PlanKey }, FileOnly: true},
	{Name: "targets", field: func(c *Config) any { return &c.Targets }, FileOnly: true},
	{Name: "checkpoint-every", Group: GroupTraining, usage: "write a checkpoint every `N` epochs, or, with --batch-size, every so many steps (500steps); 0 = only when interrupted and at the end", field: func(c *Config) any { return &c.CheckpointEvery }},
	{Name: "data-sha256", field: func(c *Config) any { return &c.DataSHA256 }, FileOnly: true},
}

// Set gives the option the value written as text.
func (o Option) Set(c *Config, text string) error {
	var err error
	want := ""
	switch p := o.field(c).(type) {
	case textSetting:
		p.set(text)
	case *Cadence:
		*p, err = parseCadence(text)
		want = "a whole number of epochs, or one of steps such as 500steps"
	case *WeightDecay:
		if *p, err = parseWeightDecay(text); err != nil {
			return fmt.Errorf("%s: %w", o.Name, err)
		}
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
		return fmt.Errorf("%s: %q is not %s", o.Name, text, want)
	}
	return nil
}

// Set gives the option of this name a value that reads. It is for settings that the program makes itself: anything else panics.
func (c *Config) Set(name, text string) {
	for _, o := range Options {
		if o.Name != name {
			continue
		}
		if err := o.Set(c, text); err != nil {
			panic("capgnn: " + err.Error())
		}
		return
	}
	panic("capgnn: no option " + name)
}

// Value returns the option's value as a string, int, uint64, float64 or bool.
func (o Option) Value(c *Config) any {
	switch p := o.field(c).(type) {
	case textSetting:
		return p.String()
	case *Cadence:
		return p.value()
	case *WeightDecay:
		return p.value()
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
	panic("capgnn: option " + o.Name + " has a field of an unknown type")
}

// Says reports whether the option says something of a run: those of sampled training say nothing of a full-batch run, whose file does not have them.
func (o Option) Says(c *Config) bool { return !o.Sampled || c.Sampled() }

// Identity returns what of the option's value decides the bits of a run, and whether anything does.
func (o Option) Identity(c *Config) (value any, decides bool) {
	value = o.Value(c)
	switch {
	case !o.Says(c):
		return nil, false
	case o.Name == rowCache, o.Name == merged, o.Name == NetOption: // changes no bit; is in checkpoints; is in the plan's key
		return nil, false
	case o.Name == gpuCache && c.Sampled(): // changes no bit there
		return nil, false
	case o.Name == sampling:
		return c.Sampling.Value.Identity(), true
	}
	return value, true
}

// KeyOf returns the values of some options for the key of a plan.
func KeyOf(c *Config, names []string) []any {
	var out []any
	for _, o := range Options {
		if slices.Contains(names, o.Name) {
			out = append(out, o.Value(c))
		}
	}
	return out
}

// valueOf returns the value of an option.
func (c *Config) valueOf(name string) any {
	return Options[slices.IndexFunc(Options, func(o Option) bool { return o.Name == name })].Value(c)
}

// Flags returns the flags of all options. The value is read through option.set, so flags and config.yaml have one
// syntax.
func Flags() []cli.Flag {
	defaults := Default()
	var flags []cli.Flag
	for _, o := range Options {
		if o.FileOnly {
			continue
		}
		if o.alone {
			flags = append(flags, &cli.GenericFlag{Name: o.Name, Category: o.Group, Usage: o.usage, Value: &switchText{}})
			continue
		}
		switch v := o.Value(&defaults).(type) {
		case bool:
			flags = append(flags, &cli.BoolFlag{Name: o.Name, Category: o.Group, Usage: o.usage})
		case string:
			flags = append(flags, &cli.StringFlag{Name: o.Name, Category: o.Group, Usage: o.usage, DefaultText: v})
		default:
			flags = append(flags, &cli.StringFlag{Name: o.Name, Category: o.Group, Usage: o.usage, DefaultText: fmt.Sprint(v)})
		}
	}
	return flags
}

// Everyday reports whether help says the option of a name before it is asked for all.
func Everyday(name string) bool {
	return slices.ContainsFunc(Options, func(o Option) bool { return o.Everyday && o.Name == name })
}

// FlagNames lists the flags of all options.
func FlagNames() []string {
	var out []string
	for _, o := range Options {
		if !o.FileOnly {
			out = append(out, o.Name)
		}
	}
	return out
}

// ApplyFlags sets every option that was given on the command line. It returns the names of those given.
func ApplyFlags(c *cli.Context, cfg *Config) ([]string, error) {
	var given []string
	for _, o := range Options {
		if o.FileOnly || !c.IsSet(o.Name) {
			continue
		}
		text := fmt.Sprint(c.Value(o.Name))
		if p := (problems{}); text == "" && o.unnamed() != nil && !p.oneOf(o.Name, text, o.unnamed()...) {
			return nil, term.Usagef("%s: %w", c.Command.Name, p[0])
		}
		if err := o.Set(cfg, text); err != nil {
			return nil, term.Usagef("%s: --%w", c.Command.Name, err)
		}
		given = append(given, o.Name)
	}
	cfg.ownPartitioner(!slices.Contains(given, isolated) || slices.Contains(given, "partitioner"))
	return given, nil
}

// optionNames lists the options by name.
func optionNames() []string {
	var out []string
	for _, o := range Options {
		out = append(out, o.Name)
	}
	return out
}
