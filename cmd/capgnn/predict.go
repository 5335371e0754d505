package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/prediction"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gpu/host/kernel"
	"capgnn/internal/atomicfile"
	"capgnn/pipeline/halo"
)

// groupPrediction is the group of help that the flags of predict are in.
const groupPrediction = "Prediction"

func predictCommand() *cli.Command {
	return &cli.Command{
		Name:  "predict",
		Usage: "write logits, probabilities, labels, embeddings or principal components of the vertices, by the weights of a run", UsageText: "capgnn predict --run runs/first --what labels --out labels.csv",
		Description: "Row i is vertex i of the data set. --edges, --self-loops, --storage and the mean and deviation of features are those of the run. The data set needs no labels and no split. If run and data set have names of columns, columns are matched by name. " +
			"Logits, probabilities and embeddings are float32; labels are int64 class numbers or, for multi-label data, a uint8 matrix of 0 and 1. Probabilities are the softmax of the logits, for multi-label data the sigmoid. A .csv also has ids, the set of each vertex (split: train, val, test or nothing), and names of classes, if they are known. Embeddings are the output of hidden layer L, after norm, activation and the input that --residual adds. For sgc and appnp they are the result of L+1 propagations, with as many columns as the logits; with --jk cat the last layer is a hidden one, too. Layers count from 0, as in the names of weights. " +
			"pca writes pca.json into the run folder: the first two principal components of the embeddings (or of the logits, if the model has one layer) of up to 2000 vertices. `capgnn report RUN` then draws them.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "run", Category: groupPrediction, Usage: "the run folder `RUN`"},
			&cli.StringFlag{Name: "dataset", Category: groupPrediction, Usage: "another data set with the same features and classes: a `NAME`, folder or file (default: the run's)"},
			&cli.StringFlag{Name: "weights", Category: groupPrediction, Value: "best", Usage: "best (model.safetensors), last (last.safetensors) or a `FILE` (.safetensors, .npz)"},
			&cli.StringFlag{Name: "what", Category: groupPrediction, Value: prediction.Logits, Usage: "`WHAT` to write: logits, probabilities, labels, embeddings or pca"},
			&cli.StringFlag{Name: "only", Category: groupPrediction, Usage: "write only the vertices of a `SET` into a .csv: train, val or test"},
			&cli.IntFlag{Name: "layer", Category: groupPrediction, Usage: "hidden layer `L` of embeddings and pca, from 0 (default: the last one)", DefaultText: " "},
			&cli.StringFlag{Name: "out", Category: groupPrediction, Usage: "`FILE` to write: .npy or .csv, for pca .json (default: WHAT.npy or pca.json in the run folder; for another data set with -NAME before the ending)"},
			&cli.StringFlag{Name: "devices", Category: groupPrediction, Usage: "`LIST` as for train; one part per device, or several that take turns where a device is too small", DefaultText: "auto"},
		}, runfolder.FlagsOf(ranks.Flags...)...),
		Action: predictAction,
	}
}

func predictAction(c *cli.Context) error {
	k := term.NewConsole(c)
	s, err := ranks.FromContext(c)
	if err != nil {
		return err
	}
	if s.Several() {
		return predictTogether(c, k, s)
	}
	ctx, stop := term.Interruptible(c.Context, k, "as soon as possible")
	defer stop()
	p, err := newPrediction(c, k)
	if err != nil {
		return err
	}
	r, err := p.Predict(ctx)
	if errors.Is(err, context.Canceled) {
		return &term.InterruptedError{Note: "nothing was written"}
	}
	if err != nil {
		return err
	}
	return r.Print(k)
}

// predictTogether is predictAction of one of several ranks. Rank 0 has the run, writes the file and prints the result.
func predictTogether(c *cli.Context, k *term.Console, s ranks.Settings) error {
	ctx, stop := term.InterruptibleFor(c.Context, k, "as soon as possible", ranks.Patience)
	defer stop()
	options := map[string]string{}
	for _, name := range []string{"what", "layer", "weights", "only"} {
		options[name] = fmt.Sprint(c.Value(name))
	}
	m, err := ranks.Join(ctx, k, s, cluster.Facts{Options: options, Instructions: kernel.ISA()})
	if err != nil {
		return err
	}
	defer m.Close()
	k.Quiet = k.Quiet || !m.Leads()
	whole, end := m.Until(ctx)
	defer end()
	own := training.Own{Dataset: c.String("dataset"), Devices: c.String("devices")}
	p, err := prediction.Together(whole, k, m, own, func() (*prediction.Prediction, error) { return newPrediction(c, k) })
	if err != nil {
		return err
	}
	r, err := p.Predict(whole)
	if err != nil || !m.Leads() {
		return err
	}
	return r.Print(k)
}

// newPrediction checks the flags and reads the settings of the run.
func newPrediction(c *cli.Context, k *term.Console) (*prediction.Prediction, error) {
	p := &prediction.Prediction{Folder: runfolder.Dir(filepath.Clean(c.String("run"))), What: c.String("what"), Layer: -1, Out: c.String("out"), Only: c.String("only"),
		Run: training.New(k, "", runfolder.Default())}
	if c.String("run") == "" {
		return nil, term.Usagef("predict: --run is missing: name a run folder")
	}
	if !p.Folder.HoldsRun() {
		return nil, term.Usagef("--run %s: no run there: %s", p.Folder, p.Folder.NoRun())
	}
	if err := p.Folder.ReadConfig(&p.Config); err != nil {
		return nil, err
	}
	p.Config.Set("staleness", "0,layers="+runfolder.LayersAuto) // no row is old here, and nothing may be asked of old ones
	if err := p.Config.Validate(); err != nil {
		return nil, term.Usagef("--run %s: %w", p.Folder, err)
	}
	switch p.Weights = c.String("weights"); p.Weights {
	case "best":
		p.Weights = p.Folder.Best()
	case "last":
		p.Weights = p.Folder.Last()
	default:
		from := runfolder.Beside(p.Weights)
		is, _ := os.Stat(string(from))
		run, _ := os.Stat(string(p.Folder))
		if p.Alone = from == ""; !os.SameFile(is, run) {
			p.Learned = from
		}
	}
	if err := chooseRows(c, p); err != nil {
		return nil, err
	}
	if err := p.CheckOnly(); err != nil {
		return nil, err
	}
	switch ext := strings.ToLower(filepath.Ext(p.Out)); {
	case !c.IsSet("out") || atomicfile.IsStream(p.Out):
	case p.What == prediction.PCA && ext != ".json":
		return nil, term.Usagef("--out %s: end the name in .json", p.Out)
	case p.What != prediction.PCA && ext != ".npy" && ext != ".csv":
		return nil, term.Usagef("--out %s: end the name in .npy or .csv", p.Out)
	}
	if err := term.CheckOut("out", p.Out); err != nil {
		return nil, err
	}
	k.KeepStdoutFor(p.Out)
	// What decided the speed and the memory of training decides nothing here, but for the order of vertices.
	p.Config.Devices, p.Config.Parts, p.Config.Targets, p.Config.Profile = c.String("devices"), 0, "", ""
	p.Config.Plan, p.Config.MaxPrune = "", 0
	p.Config.Set("machines", "")
	p.Config.Set("stream", "auto")
	p.Config.Set(runfolder.HaloDtype, halo.FP32.String())
	p.BeyondMemory = p.Config.Sampled() || p.Config.Phased()
	p.Config.Set("isolated", "") // all edges count
	if err := devices.Check(p.Config.Devices); err != nil {
		return nil, err
	}
	p.Other = c.IsSet("dataset") && c.String("dataset") != p.Config.Dataset
	if path := p.Config.DatasetPath; !c.IsSet("dataset") && path != "" && !term.Exists(path) {
		return nil, term.Usagef("--run %s: its data set %s is not there: say where it is now with --dataset", p.Folder, path)
	}
	if err := cmp.Or(p.SameModel(), p.UseNames(), p.UseScaling(), p.UseResult()); err != nil {
		return nil, err
	}
	if c.IsSet("dataset") {
		p.Config.Dataset, p.Config.DatasetPath = c.String("dataset"), ""
	}
	if p.Other {
		p.Config.Set("split", "") // which is of the run's data set
	}
	if p.Other || p.BeyondMemory { // one pass does not pay for finding an order, and chunks have none
		p.Config.Order = runfolder.OrderNone
	}
	return p, nil
}

// chooseRows settles --what and --layer.
func chooseRows(c *cli.Context, p *prediction.Prediction) error {
	switch p.What {
	case prediction.Logits, prediction.Probabilities, prediction.Labels:
		if c.IsSet("layer") {
			return term.Usagef("--layer chooses embeddings: add --what embeddings or drop it")
		}
	case prediction.Embeddings, prediction.PCA:
		hidden := p.Config.AnyNetwork().HiddenLayers()
		if hidden == 0 && p.What == prediction.PCA && !c.IsSet("layer") {
			return nil // of the logits
		}
		if hidden == 0 {
			return term.Usagef("--what %s: the model of %s has one layer, so no hidden one: %s", p.What, p.Folder, map[string]string{prediction.Embeddings: "use --what logits", prediction.PCA: "drop --layer for the logits"}[p.What])
		}
		if p.Layer = hidden - 1; c.IsSet("layer") {
			p.Layer = c.Int("layer")
		}
		if p.Layer < 0 || p.Layer >= hidden {
			return term.Usagef("--layer %d: the hidden layers of %s are 0 to %d", p.Layer, p.Folder, hidden-1)
		}
	default:
		return term.Usagef("--what %s is not one of %s", term.Quoted(p.What, prediction.Whats), strings.Join(prediction.Whats, ", "))
	}
	return nil
}
