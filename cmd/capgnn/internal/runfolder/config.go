package runfolder

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph/dataset"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/jaca"
	"capgnn/model"
	"capgnn/pipeline/halo"
	"capgnn/rapa"
)

// Config is everything that decides a training run. Each field is one option (options.go), under the same name on
// the command line and in config.yaml.
type Config struct {
	Dataset       string      // as the user wrote it
	DatasetPath   string      // where it was found; "" before that
	Edges         string      // direction of the file's edges; auto = the format's own default
	Standardize   string      // how features are scaled; auto = the format's own default
	Features      string      // dataset.Options.Features
	IgnoreWeights bool        // of edges
	Split         Text[Split] // how training, validation and test vertices are drawn, or the number of a split; "" = the data set's masks, or 0.7,0.2,0.1
	AllowOverlap  bool        // of the data set's masks
	SelfLoops     string

	Model            string
	Layers           int
	Hidden           int
	Heads            int
	Teleport         float64 // α of APPNP and GCNII
	Theta            float64 // of GCNII
	Norm             string  // between layers: one of model.Norms; "" = NormLayer, of models that have it
	DropFeatures     bool    // dropout drops features, too
	AttentionDropout float64 // probability of dropping a weight of attention
	Residual         bool    // layers that read and make hidden rows add what they read
	JK               string  // jumping knowledge: one of model.JKs
	Activation       string  // of model.Activations; "" = relu, of models that have one
	Dropout          float64
	Init             string // weights to start from; "" = drawn from Seed

	Epochs         int
	BegunEpochs    int // those with which a run began that --resume has made longer; 0 = no run has
	LR             float64
	Schedule       Text[fit.Schedule] // of LR
	Optimizer      string
	WeightDecay    WeightDecay
	AMSGrad        bool
	ClassWeights   Text[ClassWeights]
	LabelSmoothing float64 // share of a target that all classes have
	ClipNorm       float64 // of the gradient, 0 = any
	Seed           uint64
	EvalEvery      int
	Patience       int
	Metric         string // what is scored
	Positive       string // the positive class of two, by name or number; "" = class 1
	BestBy         string // what of validation chooses the best weights: bestByMetric or bestByLoss

	BatchSize  int             // roots of a step over all parts, 0 = full batch
	Sampler    string          // SamplerNeighbor or SamplerLadies
	Fanout     Text[[]int]     // sampled in-neighbours by layer, or vertices that a layer draws, nearest the roots first; nil = by model and features
	Isolated   Text[*Isolated] // parts train without rows of each other; nil: they exchange them
	Sampling   Text[Sampling]  // how steps are made
	EvalFanout Text[[]int]     // in-neighbours that evaluation samples by layer, nearest the roots first; nil = it reads all

	Devices     string // grammar of --devices
	Parts       int    // 0 = one per device
	Partitioner string
	Objective   string              // of the multilevel partitioner: cut or volume
	Machines    Text[[]int]         // parts of each machine, or the number of machines; nil: one, or those of the ranks
	Net         Text[*Net]          // what connects machines; nil: not known
	Balance     float64             // most inner vertices of a part over its share, ≥ 1
	BalanceBy   string              // list of balanced quantities, "" = vertices,edges,train
	Cost        string              // what parts are balanced by: CostAuto, CostTime or CostLambda
	Move        bool                // inner vertices may leave the part that the partitioner put them in
	MaxPrune    float64             // share of cut edges that may be pruned, 0 = lossless
	Prune       float64             // share of each part's cut edges that is pruned whatever the devices, 0 = none
	PruneScore  string              // order in which replicas are pruned
	Alpha       float64             // α of Eq. 14
	Plan        string              // plan file to take the parts from, "" = make one
	Profile     string              // profile file; "" = the cached one or a brief measurement
	Order       string              // of the vertices inside a part: orders
	Storage     string              // element type of gathered and exchanged rows: fp32 or bf16
	Stream      string              // whether the parts of a device take turns on it: streamAuto, SwitchOn or SwitchOff
	TF32        bool                // dense products on GPUs may round their operands to TF32
	Cache       string              // policy by which halo rows get slots: jaca.Policies
	GPUCache    Text[jaca.Size]     // size of each device's cache
	CPUCache    Text[jaca.Size]     // of the host's
	ReserveGPU  Text[gpu.Bytes]     // memory of each device that caches leave alone
	ReserveCPU  Text[gpu.Bytes]     // of the host's
	CacheTopK   int                 // halo rows that count per reader and owner, 0 = all
	Staleness   int                 // how old rows may get, in epochs
	StaleLayers Text[[]int]         // layers whose halo rows may be stale; nil: CacheLayers, or by their widths
	ExactEpochs Text[int]           // epochs at first that use rows of their own epoch; −1 = auto
	Pipeline    string              // SwitchOn or SwitchOff
	Peer        string              // whether devices copy straight from each other: SwitchOn or SwitchOff
	HaloType    Text[halo.Encoding] // encoding of halo rows on their way
	CacheSlots  Text[[]int]         // capacities of the run that wrote the file: rows of each part's cache, then of the host's; "" = decide; config file only
	CacheLayers Text[[]int]         // layers whose halo rows may be stale, as a forecast decided; nil: none did, or does not yet; config file only
	CacheLinks  Text[[]Link]        // of each device: transfer rates that slots were decided by; "" = decide; config file only
	Merged      Text[*int]          // time steps of HopGNN that the run that wrote the file dropped for good; nil: its epochs decide; config file only
	PlanKey     string              // of the plan of the run that wrote the file; config file only
	cutEdited   bool                // the file named a plan that was made by other settings
	Targets     string              // share of the work of each part, "" = decide from devices and profile; config file only

	CheckpointEvery Cadence
	custom          *gnn.Model // of a Model that is a file; nil: the model has a name
	DataSHA256      string     // identity of graph, features, labels and splits of the run that wrote the file; config file only
	ModelSHA256     string     // of a Model that is a file, as the run that wrote the file trains it; config file only
}

// Default returns the settings of a run where nothing is said.
func Default() Config {
	c := Config{
		Edges: dataset.Auto, Standardize: dataset.Auto, Features: dataset.FeaturesStored, SelfLoops: "auto", Model: GCN, Layers: 3, Hidden: 256, Heads: 4, Teleport: 0.1, Theta: 0.5, JK: model.JKNone, Dropout: 0.5,
		Sampler: SamplerNeighbor, Epochs: 200, LR: 0.01, Optimizer: string(gnn.Adam), Seed: 1, EvalEvery: 5, Metric: string(learn.Auto), BestBy: bestByMetric,
		Devices: "auto", Partitioner: string(rapa.Methods[0]), Objective: "cut", Balance: 1.03, Cost: CostAuto, PruneScore: string(rapa.PruneScores[0]), Alpha: 0.5, Order: OrderAuto, Storage: gpu.FP32.String(), CheckpointEvery: Cadence{Epochs: 10},
		Cache: string(jaca.JACA), Move: true, Pipeline: SwitchOn, Peer: SwitchOn, Stream: streamAuto,
	}
	for name, text := range map[string]string{
		"split": "", gpuCache: jaca.Size{}.String(), cpuCache: jaca.Size{}.String(), "cache.reserve-gpu": "0", "cache.reserve-cpu": "0",
		StaleLayers: LayersAuto, CacheLayers: LayersAuto, "staleness.exact": exactAuto, "halo-dtype": halo.FP32.String(), "cache-slots": "", "cache-links": "",
		fanOut: "", evalFanout: "", isolated: "", scheduleOption: "", classWeights: "", sampling: samplingDefault, merged: "",
	} {
		c.Set(name, text)
	}
	return c
}

// GCN is the model of a run where nothing is said.
const GCN = "gcn"

// What --model and --optimizer may be.
var (
	Models     = model.Names("")
	Optimizers = []gnn.OptimizerKind{gnn.Adam, gnn.AdamW, gnn.SGD}
)

// Bounds of counts; they catch slips of the keyboard before memory is asked for.
const (
	MaxEpochs = 10_000_000
	maxParts  = 4096

	maxBalance = 1000 // beyond it a factor means "unbounded" anyway
)

// Validate reports everything that is wrong with c as far as it can be told without data and devices.
func (c *Config) Validate() error {
	var p problems
	if c.Dataset == "" {
		p.add("--dataset is missing: name a data set, a store folder or a file")
	}
	c.checkChoices(&p)
	plain := *c // checkBlocks names the flags of the rest
	plain.Residual, plain.Activation, plain.DropFeatures, plain.AttentionDropout = false, "", false, 0
	if c.custom == nil && !p.oneOf("model", c.Model, append(Models, "NAME.json")...) {
		plain.Model = GCN // the rest is looked at all the same
	}
	if b, err := model.Named(plain.Model); err == nil {
		if !b.Has(jkOption) {
			plain.JK = model.JKNone
		}
		if !b.Has(normOption) {
			plain.Norm = ""
		}
	}
	network, wrong := plain.network()
	optimizer := c.updateRule()
	if wrong == nil && c.Hidden < 1 { // which the model has no use for
		p.add("--hidden %d is below 1", c.Hidden)
	}
	if !slices.Contains(Optimizers, optimizer.Kind) {
		optimizer.Kind = gnn.Adam
	}
	if c.Positive != "" && c.Metric != string(learn.ROCAUC) && c.Metric != string(learn.AveragePrecision) {
		p.add("%s is for --%s %s and %s: add one of them or drop it", Label(positiveOption), metricOption, learn.ROCAUC, learn.AveragePrecision)
	}
	c.checkParts(&p)
	if c.Norm == model.NormBatch && c.Sampled() && c.Sampling.Value.hops() {
		p.add("--norm batch needs all rows of a step at once, and hopgnn computes those of parts one after the other: drop --sampling hopgnn")
	}
	if c.ElementType() != gpu.FP32 && wrong == nil && !network.StoresBF16() {
		p.add("--storage %s: --model %s computes on fp32 rows only: drop it, or train gcn, sage or gin", c.Storage, c.Model)
	}
	if wrong == nil && network.Messages() {
		if c.Staleness > 0 {
			p.add("--staleness: --model %s compares rows of both ends of edges, which have to be of one epoch: drop it", c.Model)
		}
		if c.HaloType.Value != halo.FP32 {
			p.add("--%s %v: --model %s compares rows of both ends of edges, which have to be exact: drop it", HaloDtype, c.HaloType.Value, c.Model)
		}
	}
	p = append(p, c.cacheErrors()...)
	c.checkBlocks(&p)
	c.checkCounts(&p)
	c.checkSchedule(&p)
	c.checkCriterion(&p)
	c.checkSampling(&p)
	c.checkIsolated(&p)
	c.checkStream(&p)
	c.checkSums(&p)
	if err := dataset.CheckFeatures(c.Features); err != nil {
		p.add("--%w", err)
	} else if c.MakesFeatures() && (c.Standardize == dataset.StandardizeTrain || c.Standardize == dataset.StandardizeRows) {
		p.add("--features %s with --standardize %s: features made from the graph are not standardised: drop one of them", c.Features, c.Standardize)
	}
	p = append(p, c.Split.err)
	p.flags(wrong)
	p.flags(optimizer.Validate())
	if wrong == nil && plain.Model == c.Model {
		c.checkWeightDecay(&p, network)
	}
	if err := errors.Join(p...); err != nil {
		return term.Usagef("%w", err)
	}
	return nil
}

// checkParts looks at how the graph is cut and pruned.
func (c *Config) checkParts(p *problems) {
	if c.Objective == string(rapa.Volume) && c.Partitioner != string(rapa.Multilevel) {
		p.add("--partitioner objective=%s: %s does not know it, %s does", c.Objective, c.Partitioner, rapa.Multilevel)
	}
	c.checkMachines(p)
	p.share("prune.max", c.MaxPrune)
	p.share("prune", c.Prune)
	if c.Prune > 0 && c.MaxPrune > 0 {
		p.add("--prune: give a share or max=: max prunes only what balances the load")
	}
	p.share("cost.alpha", c.Alpha)
	if !(c.Balance >= 1 && c.Balance <= maxBalance) {
		p.add("--partitioner balance=%g is not in [1, %d]", c.Balance, maxBalance)
	}
}

// checkCounts looks at epochs and parts.
func (c *Config) checkCounts(p *problems) {
	p.within("epochs", c.Epochs, 0, MaxEpochs)
	p.within(begunEpochs, c.BegunEpochs, 0, max(0, c.Epochs))
	p.within("eval-every", c.EvalEvery, 0, MaxEpochs)
	p.within("patience", c.Patience, 0, MaxEpochs)
	p.within("checkpoint-every", c.CheckpointEvery.Epochs, 0, MaxEpochs)
	p.within("parts", c.Parts, 0, maxParts)
	if c.Patience > 0 && c.EvalEvery == 0 {
		p.add("--patience counts evaluations, but --eval-every 0 evaluates only at the end")
	}
}

// BestByLoss reports whether the loss of validation chooses the best weights.
func (c *Config) BestByLoss() bool { return c.BestBy == bestByLoss }

// MakesFeatures reports whether features are made of the graph, in place of those of the data set.
func (c *Config) MakesFeatures() bool { return c.Features != dataset.FeaturesStored }

// ElementType returns the element type of the rows that aggregations gather and parts exchange.
func (c *Config) ElementType() gpu.DType {
	if c.Storage == gpu.BF16.String() {
		return gpu.BF16
	}
	return gpu.FP32
}

// ParseFloats reads numbers separated by commas; "" is none.
func ParseFloats(text string) ([]float64, error) {
	if text == "" {
		return nil, nil
	}
	var values []float64
	for item := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(item), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%q is not a number", item)
		}
		values = append(values, v)
	}
	return values, nil
}

// FormatFloats is the inverse of ParseFloats, exact.
func FormatFloats(values []float64) string {
	items := make([]string, len(values))
	for i, v := range values {
		items[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strings.Join(items, ",")
}

// Names returns choices as text.
func Names[T ~string](choices []T) []string {
	out := make([]string, len(choices))
	for i, c := range choices {
		out[i] = string(c)
	}
	return out
}

// list writes the names of choices behind each other.
func list[T ~string](choices []T) string { return strings.Join(Names(choices), ", ") }

// What parts are balanced by.
const (
	CostAuto   = "auto"   // CostLambda with --prune max=, else CostTime
	CostTime   = "time"   // the simulated time of an epoch
	CostLambda = "lambda" // Eq. 13
)

// ByLambda is lambda for a run that learns.
func (c *Config) ByLambda() bool {
	return c.Cost == CostLambda || c.Cost == CostAuto && c.MaxPrune > 0
}

// edgeKinds, standardizations, selfLoops and switches are what options may be.
var (
	edgeKinds        = []string{dataset.Auto, dataset.Symmetric, dataset.Directed, dataset.Reversed}
	standardizations = []string{dataset.Auto, dataset.StandardizeNone, dataset.StandardizeTrain, dataset.StandardizeRows}
	selfLoops        = []string{"auto", "add", "keep", "remove"}
	switches         = []string{SwitchOn, SwitchOff}
)

// Values of --order: how vertices lie in memory inside a part. Results keep original ids.
const (
	OrderAuto      = "auto" // decided once for a data set and a device
	OrderNone      = "none" // as the data set numbers them
	OrderCommunity = "community"
)

// Orders are all of them.
var Orders = []string{OrderAuto, OrderNone, OrderCommunity}

// MakeAbsolute turns the given file flags into absolute paths, and a file of class weights into what it says, so that config.yaml means the same anywhere.
func (c *Config) MakeAbsolute(given []string) error {
	for name, path := range map[string]*string{"init": &c.Init, "profile": &c.Profile, "plan": &c.Plan, "model": &c.Model} {
		if *path == "" || name == "model" && !c.ModelFile() || !slices.Contains(given, name) {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return term.Usagef("--%s %s: %w", name, *path, err)
		}
		*path = abs
	}
	if c.ModelFile() && slices.Contains(given, "model") {
		c.ModelSHA256 = ""
		if err := c.readModel(c.Model); err != nil {
			return err
		}
	}
	return c.readWeights()
}
