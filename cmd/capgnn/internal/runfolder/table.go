package runfolder

import (
	"capgnn/gpu"
	"capgnn/graph/dataset"
	"capgnn/internal/learn"
	"capgnn/jaca"
	"capgnn/model"
	"capgnn/pipeline/halo"
	"capgnn/rapa"
)

// metricOption says what is scored, positiveOption of which class, bestByOption what of validation chooses the best
// weights.
const (
	metricOption   = "metric"
	positiveOption = "metric.positive"
	bestByOption   = "metric.best-by"
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
	GroupMachines = "Several machines"
)

// FeaturesUsage is the help of --features.
const FeaturesUsage = "`WHAT` features vertices have: stored (those of the data set), or made from the graph: " +
	"degree (one column for each in-degree), onehot (one for each vertex) or random:WIDTH, by --seed"

// teleport is how much of H⁰ layers add.
const teleport = "teleport"

// ignoreWeights has edges read as if they had no weights; IgnoreWeightsUsage is its help.
const (
	ignoreWeights      = "ignore-weights"
	IgnoreWeightsUsage = "read edges as if they had no weights"
)

// Values of --transport.
const (
	TransportTLS   = "tcp"
	TransportPlain = "tcp-plain"
	TransportMPI   = "mpi"
)

// table lists every option of train: settings in the order of config.yaml, then flags that say nothing of what a run
// learns. A name FLAG.KEY is a key of the flag before it.
var table = []Option{
	{Name: "dataset", Everyday: true, Group: GroupData, field: func(c *Config) any { return &c.Dataset },
		usage: "data set: a `NAME`, store folder, file or folder"},
	{Name: "dataset-path", FileOnly: true, field: func(c *Config) any { return &c.DatasetPath }},
	{Name: "edges", Group: GroupData, choices: edgeKinds, field: func(c *Config) any { return &c.Edges },
		usage: "read edges as `KIND`: symmetric, directed or reversed; auto = as the format says"},
	{Name: "standardize", Group: GroupData, choices: standardizations,
		field: func(c *Config) any { return &c.Standardize },
		usage: "`HOW` features are scaled: train (columns are centred and scaled by the training rows), rows (each " +
			"row is divided by the sum of its absolute values) or none; auto = train for GraphSAINT folders"},
	{Name: "features", Group: GroupData,
		examples: []string{dataset.FeaturesStored, dataset.FeaturesDegree, dataset.FeaturesOneHot,
			dataset.FeaturesRandom + ":64"},
		field: func(c *Config) any { return &c.Features },
		usage: FeaturesUsage},
	{Name: ignoreWeights, Group: GroupData, field: func(c *Config) any { return &c.IgnoreWeights },
		usage: IgnoreWeightsUsage},
	{Name: "split", Everyday: true, Group: GroupData,
		field: func(c *Config) any { return readBy(&c.Split, ParseSplit) },
		usage: SplitUsage + " (default: 0.7,0.2,0.1, or split 0)"},
	{Name: allowOverlap, Group: GroupData, field: func(c *Config) any { return &c.AllowOverlap },
		usage: AllowOverlapUsage},
	{Name: "self-loops", Group: GroupData, choices: selfLoops, field: func(c *Config) any { return &c.SelfLoops },
		usage: "`HOW` edges from a vertex to itself are treated: auto, add, keep or remove; auto removes them for " +
			"sage, gin and dirgnn, and for other models adds one to each vertex that has none"},
	{Name: "model", Everyday: true, Group: GroupModel, examples: Models,
		field: func(c *Config) any { return &c.Model },
		usage: "`MODEL`: " + takers("") + ", or a file NAME.json, which says all that " +
			"follows but --init (capgnn model)"},
	{Name: "layers", Everyday: true, Group: GroupModel, field: func(c *Config) any { return &c.Layers },
		usage: "number `N` of convolutions; of propagations of sgc, appnp and gprgnn"},
	{Name: "hidden", Everyday: true, Group: GroupModel, field: func(c *Config) any { return &c.Hidden },
		usage: "total `WIDTH` of each hidden layer, of mixhop that of each of its three powers; sgc has none"},
	{Name: "heads", Everyday: true, Group: GroupModel, field: func(c *Config) any { return &c.Heads },
		usage: "number `N` of attention heads (" + takers("heads") + ")"},
	{Name: teleport, Group: GroupModel, field: func(c *Config) any { return &c.Teleport },
		usage: "`SHARE` of a vertex's own first representation in what each layer sums, 0 to 1: α of appnp and gcnii, and of the weights that gprgnn starts with"},
	{Name: "theta", Group: GroupModel, field: func(c *Config) any { return &c.Theta },
		usage: "strength `THETA` of the weights of gcnii: layer l = 1, 2, ... mixes log(THETA/l + 1) of its weight " +
			"with the identity"},
	{Name: normOption, Everyday: true, Group: GroupModel, choices: model.Norms,
		field: func(c *Config) any { return &c.Norm },
		usage: normUsage},
	{Name: residualOption, Group: GroupModel, field: func(c *Config) any { return &c.Residual },
		usage: residualUsage},
	{Name: jkOption, Group: GroupModel, choices: model.JKs,
		field: func(c *Config) any { return &c.JK },
		usage: jkUsage},
	{Name: activationOption, Group: GroupModel, choices: Names(model.Activations),
		field: func(c *Config) any { return &c.Activation },
		usage: activationUsage},
	{Name: "dropout", Everyday: true, Group: GroupModel, field: func(c *Config) any { return &c.Dropout },
		usage: "probability `P` of dropping an activation; also a feature with --drop-features, and always in appnp, " +
			"gcnii and gprgnn; sgc drops nothing"},
	{Name: dropFeaturesOption, Group: GroupModel, field: func(c *Config) any { return &c.DropFeatures },
		usage: dropFeaturesUsage},
	{Name: attentionDropout, Group: GroupModel, field: func(c *Config) any { return &c.AttentionDropout },
		usage: "probability `P` of dropping the weight of an edge in a head of attention (" + takers(attentionDropout) + ")"},
	{Name: "init", Group: GroupModel, field: func(c *Config) any { return &c.Init },
		usage: "start from the weights in `FILE` (.npz or .safetensors, state_dict names)"},
	{Name: "epochs", Everyday: true, Group: GroupTraining, field: func(c *Config) any { return &c.Epochs },
		usage: "number `N` of epochs; with --batch-size the default is 30"},
	{Name: begunEpochs, FileOnly: true, field: func(c *Config) any { return &c.BegunEpochs }},
	{Name: "lr", Everyday: true, Group: GroupTraining, field: func(c *Config) any { return &c.LR },
		usage: "learning `RATE`"},
	{Name: scheduleOption, Group: GroupTraining, examples: Names(schedules),
		field: func(c *Config) any { return readBy(&c.Schedule, parseSchedule) },
		usage: scheduleUsage},
	{Name: "optimizer", Group: GroupTraining, choices: Names(Optimizers),
		field: func(c *Config) any { return &c.Optimizer },
		usage: "`OPTIMIZER`: adam, adamw or sgd"},
	{Name: "optimizer.amsgrad", field: func(c *Config) any { return &c.AMSGrad },
		usage: "the AMSGrad variant of adam and adamw"},
	{Name: weightDecayOption, Everyday: true, Group: GroupTraining,
		field: func(c *Config) any { return &c.WeightDecay },
		usage: weightDecayUsage},
	{Name: classWeights, Group: GroupTraining,
		field: func(c *Config) any { return readBy(&c.ClassWeights, parseClassWeights) },
		usage: "weights of classes in the loss: balanced (the same total weight for each class), a list such as " +
			"1,2.5,1, or a `FILE` with one weight per line"},
	{Name: labelSmoothing, Group: GroupTraining, field: func(c *Config) any { return &c.LabelSmoothing },
		usage: "`SHARE` of each vertex's target that is spread over all classes, 0 to below 1"},
	{Name: clipNorm, Group: GroupTraining, field: func(c *Config) any { return &c.ClipNorm },
		usage: "largest `NORM` of the gradient: a larger gradient is scaled down to it before the step; 0 = no limit"},
	{Name: "seed", Everyday: true, Group: GroupTraining, field: func(c *Config) any { return &c.Seed },
		usage: "`SEED` of weights, dropout, splits and partitions"},
	{Name: "eval-every", Group: GroupTraining, field: func(c *Config) any { return &c.EvalEvery },
		usage: "evaluate every `N` epochs; with --batch-size the default is 1; 0 = only at the end"},
	{Name: "patience", Everyday: true, Group: GroupTraining, field: func(c *Config) any { return &c.Patience },
		usage: "stop after `N` evaluations without better weights; 0 = never"},
	{Name: metricOption, Everyday: true, Group: GroupTraining, choices: Names(learn.AllMetrics),
		field: func(c *Config) any { return &c.Metric },
		usage: "`SCORE`: accuracy, micro-f1, macro-f1, roc-auc or average-precision; accuracy is of one label per " +
			"vertex, micro-f1 of several, the last two of two classes or several labels; auto = accuracy or " +
			"micro-f1"},
	{Name: positiveOption, field: func(c *Config) any { return &c.Positive },
		usage: "the positive `CLASS` of roc-auc and average-precision over two classes, by its name or number " +
			"(default: class 1)"},
	{Name: bestByOption, choices: []string{bestByMetric, bestByLoss},
		field: func(c *Config) any { return &c.BestBy },
		usage: "choose the best weights, and stop by --patience, by `WHAT` of validation: metric (the highest " +
			"score) or loss (the least loss)"},
	{Name: batchSize, Everyday: true, Group: GroupSampling, Sampled: true,
		field: func(c *Config) any { return &c.BatchSize },
		usage: "train on mini-batches of `N` seed vertices, over all parts together; 0 = full batch"},
	{Name: fanOut, Everyday: true, Group: GroupSampling, Sampled: true,
		field: func(c *Config) any { return readBy(&c.Fanout, parseFanout) },
		usage: "`LIST` of how many neighbours each vertex samples: a number for each layer, that of the seed vertices " +
			"first, such as 15,10,5; all = every neighbour. Default: 15,10,5,5,..., but for the last number all, if " +
			"the model sums features once before training: gcn, sage, gin and sgc do, but not with " +
			"--drop-features or sparse features. With --sampler ladies each layer draws so many vertices for all " +
			"that it computes (default: --batch-size)"},
	{Name: evalFanout, Sampled: true, field: func(c *Config) any { return readBy(&c.EvalFanout, parseFanout) },
		usage: "estimate scores: fan-outs (`LIST`) of evaluation (default: all neighbours, scores are exact)"},
	{Name: sampler, Group: GroupSampling, Sampled: true, choices: []string{SamplerNeighbor, SamplerLadies},
		field: func(c *Config) any { return &c.Sampler },
		usage: "`HOW` neighbours are sampled: neighbor (each vertex draws some of its own) or ladies (each layer " +
			"draws vertices for all that it computes, by importance; not with gat, gatv2 or --isolated)"},
	{Name: sampling, Group: GroupSampling, Sampled: true, examples: SamplingNames(),
		field: func(c *Config) any { return readBy(&c.Sampling, parseSampling) },
		usage: samplingUsage},
	{Name: "devices", Everyday: true, Group: GroupParts, examples: []string{"auto", "all"},
		field: func(c *Config) any { return &c.Devices },
		usage: "`LIST` such as cpu:0,cpu:1 or cuda:0,mem=8GiB,cuda:1; slow=3 behind a CPU device makes it 3 times " +
			"as slow; auto = every GPU, or one CPU device with all cores"},
	{Name: "parts", Everyday: true, Group: GroupParts, field: func(c *Config) any { return &c.Parts },
		usage: "number `N` of parts of the graph; they are placed round-robin on the devices; 0 = one per device"},
	{Name: "partitioner", Group: GroupParts, choices: Names(rapa.Methods),
		field: func(c *Config) any { return &c.Partitioner },
		usage: "`METHOD`: multilevel, streaming or random"},
	{Name: "partitioner.objective", choices: Names(rapa.Objectives),
		field: func(c *Config) any { return &c.Objective },
		usage: "`WHAT` multilevel makes small: cut (edges between parts) or volume (rows to be sent)"},
	{Name: "partitioner.balance", field: func(c *Config) any { return &c.Balance },
		usage: "largest `RATIO` of a part's inner vertices to its share"},
	{Name: "partitioner.by", field: func(c *Config) any { return &c.BalanceBy },
		usage: "`LIST` of what parts have equal amounts of: vertices, edges, train (training vertices) and memory " +
			"(default: vertices,edges,train; of partition with --parts alone vertices; unequal devices: time)"},
	{Name: machinesOption, Group: GroupParts,
		field: func(c *Config) any { return readBy(&c.Machines, parseMachines) },
		usage: "cut the graph for machines first, then each machine's share: `LIST` of how many parts each has, " +
			"such as 4,4, or how many machines there are (default: the hosts of the ranks)"},
	{Name: NetOption, field: func(c *Config) any { return readBy(&c.Net, parseNet) },
		usage: "`RATE` of the network between machines, for forecasts: RATE or RATE,LATENCY such as 10Gbit/s or " +
			"1Gbit/s,100us, or the file that `capgnn profile --cluster` wrote (default: forecasts count no time " +
			"for the network)"},
	{Name: "cost", Group: groupUnequal, choices: []string{CostAuto, CostTime, CostLambda},
		field: func(c *Config) any { return &c.Cost },
		usage: "`WHAT` is balanced between unequal devices: time (of a simulated epoch) or lambda (Eq. 13); auto = " +
			"lambda with --prune max=, else time"},
	{Name: "cost.alpha", field: func(c *Config) any { return &c.Alpha },
		usage: "`WEIGHT` of sparse against dense work in the cost model (Eq. 14)"},
	{Name: "cost.move", field: func(c *Config) any { return &c.Move },
		usage: "inner vertices are moved off where the partitioner put them"},
	{Name: "prune", Group: groupUnequal, field: func(c *Config) any { return &c.Prune },
		usage: "leave a `SHARE` of each part's cut edges out of training, so that less is exchanged; not together with " +
			"max"},
	{Name: "prune.score", choices: Names(rapa.PruneScores), field: func(c *Config) any { return &c.PruneScore },
		usage: "`WHICH` rows of other parts go first, with their edges: those of least weight in the sums, or of least " +
			"influence (Eq. 16)"},
	{Name: "prune.max", field: func(c *Config) any { return &c.MaxPrune },
		usage: "leave edges out only until unequal devices take equal time, at most this `SHARE` of all cut edges; " +
			"0 = none"},
	{Name: "plan", Group: GroupParts, field: func(c *Config) any { return &c.Plan },
		usage: "take the parts from `FILE`, made by `capgnn partition --out`"},
	{Name: "profile", Group: groupUnequal, field: func(c *Config) any { return &c.Profile },
		usage: "profile `FILE` of the devices (default: the cached one, else a brief measurement)"},
	{Name: "order", Group: groupMemory, choices: Orders, field: func(c *Config) any { return &c.Order },
		usage: "`ORDER` of the vertices in memory: none or community; auto measures once whether community pays"},
	{Name: "storage", Everyday: true, Group: groupMemory, choices: []string{gpu.FP32.String(), gpu.BF16.String()},
		field: func(c *Config) any { return &c.Storage },
		usage: "element `TYPE` of rows in memory: fp32 or bf16. Neighbours gather and devices exchange these. Sums " +
			"are fp32 with both. With bf16, a GPU that has cuBLAS also rounds the operands of dense products to " +
			"bf16"},
	{Name: streamOption, Group: groupMemory, choices: []string{streamAuto, SwitchOn, SwitchOff},
		field: func(c *Config) any { return &c.Stream },
		usage: "`WHEN` the parts of a device take turns in its memory, with the same results: on, off, or auto = if a " +
			"device is too small to hold them together. Without --parts a device gets as many as it needs"},
	{Name: "tf32", Group: groupMemory, field: func(c *Config) any { return &c.TF32 },
		usage: "let dense products on GPUs round their operands to 10 bits of mantissa, where cuBLAS and the GPU can"},
	{Name: "cache", Group: GroupExchange, choices: Names(jaca.Policies),
		field: func(c *Config) any { return &c.Cache },
		usage: "`POLICY`, which rows of other parts are kept in memory: jaca, paper (Algorithm 1 as printed) or none"},
	{Name: gpuCache, field: func(c *Config) any { return readBy(&c.GPUCache, jaca.ParseSize) },
		usage: "`SIZE` of each device's cache: rows (20000), a share of the rows that it could hold (20%), memory " +
			"(2GiB), or auto = what memory leaves; with --batch-size each GPU keeps feature rows of its own " +
			"part, at most so many, and not more than memory leaves"},
	{Name: cpuCache, field: func(c *Config) any { return readBy(&c.CPUCache, jaca.ParseSize) },
		usage: "`SIZE` of the cache in host memory, as gpu"},
	{Name: "cache.reserve-gpu", field: func(c *Config) any { return readBy(&c.ReserveGPU, parseReserve) },
		usage: "memory (`SIZE`) of each device that its cache leaves alone, such as 500MiB"},
	{Name: "cache.reserve-cpu", field: func(c *Config) any { return readBy(&c.ReserveCPU, parseReserve) },
		usage: "host memory (`SIZE`) that the cache leaves alone"},
	{Name: "cache.topk", field: func(c *Config) any { return &c.CacheTopK },
		usage: "size a part's caches by `N` rows of each other part, those that most parts read; 0 = by all rows"},
	{Name: "staleness", Everyday: true, Group: GroupExchange, field: func(c *Config) any { return &c.Staleness },
		usage: "largest age of rows of other parts, `N` epochs up to 16; 0 = all rows are of the epoch that uses " +
			"them"},
	{Name: StaleLayers, field: func(c *Config) any { return readBy(&c.StaleLayers, parseLayers) },
		usage: "`LIST` of layers that may read stale rows, such as 1,2; layer 0 never does. none; wide = layers with " +
			"a wide output; auto = layers where stale rows make a forecast epoch faster (CPU devices without link=: " +
			"wide)"},
	{Name: "staleness.exact", field: func(c *Config) any { return readBy(&c.ExactEpochs, parseExactEpochs) },
		usage: "number `N` of first epochs that use only fresh rows of other parts, as weights change most then; " +
			"auto = a tenth of --epochs"},
	{Name: "staleness.pipeline", choices: switches, field: func(c *Config) any { return &c.Pipeline },
		usage: "rows of other parts are used one epoch after they were made, so that they travel during computation"},
	{Name: "peer", Group: GroupExchange, choices: switches, field: func(c *Config) any { return &c.Peer },
		usage: "copy between devices that reach each other's memory (`WAY`): on; off = through the host"},
	{Name: HaloDtype, Everyday: true, Group: GroupExchange, examples: []string{"fp32", "bf16", "int8", "int2"},
		field: func(c *Config) any { return readBy(&c.HaloType, halo.ParseEncoding) },
		usage: "element `TYPE` of rows of other parts on their way: fp32, bf16, int8 or int2; fp32 = as stored, " +
			"int8 and int2 have a scale per row and round at random; rows in the cache of the host have it, too"},
	{Name: isolated, Group: GroupExchange, alone: true,
		field: func(c *Config) any { return readBy(&c.Isolated, parseIsolated) },
		usage: isolatedUsage},
	{Name: "cache-slots", FileOnly: true, field: func(c *Config) any { return readBy(&c.CacheSlots, parseSlots) }},
	{Name: CacheLayers, FileOnly: true, field: func(c *Config) any { return readBy(&c.CacheLayers, parseLayers) }},
	{Name: "cache-links", FileOnly: true, field: func(c *Config) any { return readBy(&c.CacheLinks, parseLinks) }},
	{Name: merged, FileOnly: true, Sampled: true, field: func(c *Config) any { return readBy(&c.Merged, parseMerged) }},
	{Name: planKey, FileOnly: true, field: func(c *Config) any { return &c.PlanKey }},
	{Name: "targets", FileOnly: true, field: func(c *Config) any { return &c.Targets }},
	{Name: "checkpoint-every", Group: GroupTraining, field: func(c *Config) any { return &c.CheckpointEvery },
		usage: "write a checkpoint every `N` epochs, or, with --batch-size, every so many steps (500steps); 0 = " +
			"only when interrupted and at the end"},
	{Name: "data-sha256", FileOnly: true, field: func(c *Config) any { return &c.DataSHA256 }},
	{Name: ModelSum, FileOnly: true, field: func(c *Config) any { return &c.ModelSHA256 }},
	{Name: "run-dir", Everyday: true, Group: GroupRun, usage: "`DIR` of the run (default: runs/DATASET-MODEL-TIME)"},
	{Name: "overwrite", Group: GroupRun,
		usage: "let --run-dir hold files that no run has written: those with names of a run's are replaced"},
	{Name: "resume", Everyday: true, Group: GroupRun,
		usage: "continue the run in folder `RUN`, or print its result if it is finished; more --epochs than " +
			"it had make it longer"},
	{Name: "seeds", Everyday: true, Group: GroupRun,
		usage: "train a run for each seed of `LIST`, such as 1-10 or 1,3,7-9; they lie in DIR/seed-N; " +
			"mean, standard deviation and confidence interval are reported"},
	{Name: "trace", Group: GroupRun,
		usage: "record what the queues of all devices do in epoch `N`, from 0, and write it to trace.json in the run " +
			"folder, which reports draw; of several ranks rank 0 does so for its own devices"},
	{Name: "config", Everyday: true, Group: GroupRun,
		usage: "take all settings from `FILE`, a run's config.yaml; flags beside it override it"},
	{Name: "ranks", Group: GroupMachines,
		usage: "number `N` of processes (default: from RANK, WORLD_SIZE and MASTER_ADDR, or the variables of mpirun, " +
			"srun or Kubernetes)"},
	{Name: "ranks.rank", usage: "number `R` of this process, from 0"},
	{Name: "ranks.master", usage: "where rank 0 listens: `HOST`, HOST:PORT or [IPV6]:PORT (default port: 29500)"},
	{Name: "transport", Group: GroupMachines, standard: TransportTLS,
		choices: []string{TransportTLS, TransportPlain, TransportMPI},
		usage: "`HOW` rows travel between ranks: tcp (TLS), tcp-plain (faster; not encrypted), or mpi (the MPI that " +
			"started them; not encrypted)"},
	{Name: "transport.secret",
		usage: "`FILE` with the secret that all ranks share (default: CAPGNN_SECRET, else the file that " +
			"`capgnn doctor --cluster` makes)"},
	{Name: "transport.join-timeout", standard: "5m0s", usage: "how long to wait for all ranks: a `TIME`"},
	{Name: "transport.peer-timeout", standard: "1m0s",
		usage: "how long a rank may be silent until it counts as lost: a `TIME`"},
	{Name: "json", Everyday: true, usage: "print the result as one JSON object on the last line of standard output"},
	{Name: "quiet", Everyday: true, usage: "print no progress and no notes"},
}
