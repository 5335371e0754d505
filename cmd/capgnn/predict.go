package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	"gorgonia.org/tensor"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/internal/atomicfile"
	"capgnn/jaca"
	"capgnn/pipeline"
)

// Values of --what.
const (
	whatLogits     = "logits"
	whatLabels     = "labels"
	whatEmbeddings = "embeddings"
)

func predictCommand() *cli.Command {
	return &cli.Command{
		Name:  "predict",
		Usage: "write logits, labels or hidden embeddings of every vertex with the weights of a run", UsageText: "capgnn predict --run runs/first --what labels --out labels.csv",
		Description: "Row i is vertex i of the data set, whatever the devices. The run's --edges and --self-loops apply, and features are standardised as the run's were, with its mean and deviation; labels and splits are not needed. " +
			"Logits and embeddings are float32, labels int64 class numbers or, for multi-label data, a uint8 matrix of 0 and 1. Embeddings are what hidden layer L hands on, behind LayerNorm and ReLU; layers count from 0 as in the names of the weights.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "run", Usage: "the run folder `RUN`"},
			&cli.StringFlag{Name: "dataset", Usage: "another data set of the same features and classes: a `NAME`, folder or file (default: the run's)"},
			&cli.StringFlag{Name: "weights", Value: "best", Usage: "best (model.safetensors), last (last.safetensors) or a `FILE` (.safetensors, .npz)"},
			&cli.StringFlag{Name: "what", Value: whatLogits, Usage: "`WHAT` to write: logits, labels or embeddings"},
			&cli.IntFlag{Name: "layer", Usage: "hidden layer `L` of the embeddings, from 0 (default: the last one)", DefaultText: " "},
			&cli.StringFlag{Name: "out", Usage: "the `FILE` to write, .npy or .csv (default: WHAT.npy, for another data set WHAT-NAME.npy, in the run folder)"},
			&cli.StringFlag{Name: "devices", Usage: "`LIST` as for train; one part each", DefaultText: "auto"},
		},
		Action: predictAction,
	}
}

// prediction is one `predict` on its way.
type prediction struct {
	*training.Run               // settings of the run, data and devices
	run           runfolder.Dir // whose weights are used
	weights       string        // file
	what          string
	layer         int // -1: the last hidden one
	out           string
	other         bool             // another data set than the run's was named
	scaling       *dataset.Scaling // what the run's features were standardised with; nil: they are as stored
	multi         bool             // several labels per vertex
	model         gnn.Config
	values        *gnn.Weights
}

func predictAction(c *cli.Context) error {
	k := term.NewConsole(c)
	ctx, stop := term.Interruptible(c.Context, k, "as soon as possible")
	defer stop()
	p, err := newPrediction(c, k)
	if err != nil {
		return err
	}
	r, err := p.predict(ctx)
	if errors.Is(err, context.Canceled) {
		return &term.InterruptedError{Note: "nothing was written"}
	}
	if err != nil {
		return err
	}
	return r.print(k)
}

// newPrediction checks the flags and reads the settings of the run.
func newPrediction(c *cli.Context, k *term.Console) (*prediction, error) {
	p := &prediction{run: runfolder.Dir(filepath.Clean(c.String("run"))), what: c.String("what"), layer: -1, out: c.String("out"),
		Run: &training.Run{Console: k, Config: runfolder.Default()}}
	if c.String("run") == "" {
		return nil, term.Usagef("predict: --run is missing: name a run folder")
	}
	if !p.run.HoldsRun() {
		return nil, term.Usagef("--run %s: no run there: the folder has no config.yaml", p.run)
	}
	if err := runfolder.ReadConfig(p.run.Config(), &p.Config); err != nil {
		return nil, err
	}
	p.Config.Staleness = jaca.Staleness{}.String() // decides nothing here, nor may it: gat was once trained on old rows
	if err := p.Config.Validate(); err != nil {
		return nil, term.Usagef("--run %s: %w", p.run, err)
	}
	switch p.weights = c.String("weights"); p.weights {
	case "best":
		p.weights = p.run.Best()
	case "last":
		p.weights = p.run.Last()
	}
	if err := p.chooseRows(c); err != nil {
		return nil, err
	}
	if ext := strings.ToLower(filepath.Ext(p.out)); c.IsSet("out") && ext != ".npy" && ext != ".csv" && !atomicfile.IsStream(p.out) {
		return nil, term.Usagef("--out %s: end the name in .npy or .csv", p.out)
	}
	if info, err := os.Stat(filepath.Dir(p.out)); c.IsSet("out") && (err != nil || !info.IsDir()) {
		return nil, term.Usagef("--out %s: there is no folder %s: make it first", p.out, filepath.Dir(p.out))
	}
	if err := term.CheckOut("out", p.out); err != nil {
		return nil, err
	}
	k.KeepStdoutFor(p.out)
	// What decided the speed and the memory of training decides nothing here.
	p.Config.Devices, p.Config.Parts, p.Config.Targets, p.Config.Profile, p.Config.Savings = c.String("devices"), 0, "", "", pipeline.Savings{}
	if err := devices.Check(p.Config.Devices); err != nil {
		return nil, err
	}
	p.other = c.IsSet("dataset") && c.String("dataset") != p.Config.Dataset
	if err := p.useScaling(); err != nil {
		return nil, err
	}
	if c.IsSet("dataset") {
		p.Config.Dataset, p.Config.DatasetPath = c.String("dataset"), ""
	}
	return p, nil
}

// chooseRows settles --what and --layer.
func (p *prediction) chooseRows(c *cli.Context) error {
	switch p.what {
	case whatLogits, whatLabels:
		if c.IsSet("layer") {
			return term.Usagef("--layer chooses embeddings: add --what embeddings or leave it away")
		}
	case whatEmbeddings:
		hidden := p.Config.Layers - 1
		if hidden == 0 {
			return term.Usagef("--what embeddings: the model of %s has one layer, so no hidden one: use --what logits", p.run)
		}
		if p.layer = hidden - 1; c.IsSet("layer") {
			p.layer = c.Int("layer")
		}
		if p.layer < 0 || p.layer >= hidden {
			return term.Usagef("--layer %d: the hidden layers of %s are 0 to %d", p.layer, p.run, hidden-1)
		}
	default:
		return term.Usagef("--what %s is not one of %s, %s, %s", term.Quoted(p.what, flagChoices()["what"]), whatLogits, whatLabels, whatEmbeddings)
	}
	return nil
}

// predict runs the network and writes the file.
func (p *prediction) predict(ctx context.Context) (*predictResult, error) {
	steps := []func(context.Context) error{p.loadInput, p.ChooseDevices, p.Divide, p.Open}
	for _, step := range steps {
		if err := errors.Join(step(ctx), ctx.Err()); err != nil {
			return nil, devices.CloseAfter(err, p.Devices)
		}
	}
	begin := time.Now()
	t, err := p.compute(ctx)
	r := &predictResult{Dataset: p.Data.Name, RunDir: string(p.run), Weights: p.weights, What: p.what,
		Out: p.outFile(), Seconds: time.Since(begin).Seconds()}
	if p.layer >= 0 {
		r.Layer = &p.layer
	}
	for i, d := range p.Devices {
		r.Devices = append(r.Devices, p.Specs[i].String())
		r.PeakBytes = append(r.PeakBytes, d.Memory().HighWater)
	}
	if err := devices.CloseAfter(err, p.Devices); err != nil {
		return nil, err
	}
	r.Vertices, r.Columns = t.rows, t.cols
	return r, t.write(r.Out)
}

// compute returns the predicted rows. Their memory is asked for when the devices have had theirs, which is more.
func (p *prediction) compute(ctx context.Context) (*table, error) {
	var t *table
	opt := pipeline.PredictOptions{Model: p.model, Weights: p.values, Layers: p.layer + 1, Devices: p.Devices,
		Part: make([]int32, p.Data.Problem.Vertices())}
	if p.Plan != nil {
		opt.Part = p.Plan.Part
	}
	var err error
	if p.what == whatLabels {
		err = pipeline.PredictRows(ctx, p.Data.Problem, opt, func(ids []graph.NodeID, logits []float32) error {
			if t == nil {
				t = newLabels(p.Data.Problem.Vertices(), p.model.Out, p.multi)
				t.names = p.Data.ClassNames
			}
			t.put(ids, logits)
			return nil
		})
	} else {
		var rows *tensor.Dense
		if rows, err = pipeline.Predict(ctx, p.Data.Problem, opt); err == nil {
			t, err = newRows(p.what, rows)
		}
	}
	var oom *gpu.OutOfMemory
	if errors.As(err, &oom) {
		return nil, &term.FitError{Err: err, Remedy: training.MoreMemory(oom) + ", or name more --devices"}
	}
	return t, term.AsUsage(err)
}

// outFile returns the file to write.
func (p *prediction) outFile() string {
	if p.out != "" {
		return p.out
	}
	name := p.what
	if p.other {
		name += "-" + runfolder.FileName(p.Data.Name)
	}
	return filepath.Join(string(p.run), name+".npy")
}

// predictResult is what `predict --json` prints.
type predictResult struct {
	Dataset   string      `json:"dataset"`
	RunDir    string      `json:"run_dir"`
	Weights   string      `json:"weights"`
	What      string      `json:"what"`
	Layer     *int        `json:"layer"` // of embeddings, from 0
	Vertices  int         `json:"vertices"`
	Columns   int         `json:"columns"` // 1 for one label per vertex
	Out       string      `json:"out"`
	Seconds   float64     `json:"seconds"` // placing, forward pass and copies
	Devices   []string    `json:"devices"`
	PeakBytes []gpu.Bytes `json:"peak_bytes"` // per device
}

func (r *predictResult) print(k *term.Console) error {
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(r)
	}
	t := tabwriter.NewWriter(k.Out, 0, 0, 2, ' ', 0)
	what := r.What
	if r.Layer != nil {
		what = fmt.Sprintf("%s of hidden layer %d", what, *r.Layer)
	}
	fmt.Fprintf(t, "dataset\t%s\nweights\t%s\n%s\t%d × %d in %s\nfile\t%s\n", r.Dataset, r.Weights, what, r.Vertices, r.Columns, term.Duration(&r.Seconds), r.Out)
	return t.Flush()
}

// useScaling settles how the features of the data set that is predicted are standardised: with what the run's were, never
// with the rows of another data set.
func (p *prediction) useScaling() error {
	if p.Config.MakesFeatures() {
		return nil
	}
	s, err := p.run.ReadScaling()
	if err != nil {
		return err
	}
	p.scaling = s
	if s != nil || !p.other {
		return nil
	}
	if p.Config.Standardize == dataset.StandardizeTrain || p.Config.Standardize == dataset.Auto && datasets.LooksLike(p.Config.DatasetPath, "graphsaint") {
		return term.Usagef("--run %s standardised its features, but does not hold mean and deviation, as runs of older versions do not: train it again to predict another data set", p.run)
	}
	p.Config.Standardize = dataset.StandardizeNone
	return nil
}
