package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/pipeline"
)

// The demo's settings: small enough for half a minute on two cores, large enough to learn something.
const (
	demoDevices = "cpu:0,cpu:1"
	demoEpochs  = 100
	demoPatient = 4 * time.Second // how long a download may take
)

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:        "demo",
		Usage:       "measure two CPU devices, cut a small graph in two, train on both, show what came out",
		Description: "Takes Cora if it is found or can be downloaded within a few seconds, else a generated graph.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "generated", Usage: "take the generated graph even if Cora is there"},
			&cli.StringFlag{Name: "run-dir", Usage: "write the run into `DIR` itself (default: runs/DATASET-MODEL-TIME)"},
		},
		Action: demoAction,
	}
}

func demoAction(c *cli.Context) error {
	k := newConsole(c)
	ctx, stop := interruptible(c.Context, k)
	defer stop()
	t := &training{k: k, cfg: defaultConfig(), runPath: c.String("run-dir")}
	t.cfg.Devices, t.cfg.Epochs = demoDevices, demoEpochs
	data, err := demoData(ctx, k, &t.cfg, c.Bool("generated"))
	if err != nil {
		return err
	}
	t.data = data
	if err := t.cfg.validate(); err != nil {
		return err
	}
	if err := demoProfile(ctx, k, t.cfg.Devices); err != nil {
		return t.beforeTraining(err)
	}
	result, err := t.run(ctx)
	if err != nil {
		return err
	}
	if k.json {
		return result.print(k)
	}
	return demoSummary(k.out, result, t.cfg.DatasetPath)
}

// demoProfile measures the devices and shows the table.
func demoProfile(ctx context.Context, k *console, list string) error {
	specs, err := parseDevices(list)
	if err != nil {
		return err
	}
	shareCores(specs, cores())
	p, err := measure(ctx, k, specs, true)
	if err != nil || k.quiet {
		return err
	}
	return profileTable(k.err, p)
}

// demoData returns Cora, or a generated graph where it cannot be had.
func demoData(ctx context.Context, k *console, cfg *trainConfig, generated bool) (*learnable, error) {
	if !generated {
		if path := findCora(ctx, k); path != "" {
			cfg.Dataset, cfg.DatasetPath = "cora", path
			return loadData(ctx, k, cfg)
		}
		k.note("data: Cora is not here and cannot be downloaded: a generated graph takes its place")
	}
	cfg.Dataset = "generated"
	return generate(cfg)
}

// findCora returns where Cora lies, after downloading it if need be; "" if it cannot be had quickly.
func findCora(ctx context.Context, k *console) string {
	roots := dataRoots()
	for _, name := range []string{"cora", "planetoid_cora"} {
		if path, err := dataset.Resolve(name, roots); err == nil {
			k.note("data: Cora in %s", path)
			return path
		}
	}
	if len(roots) == 0 {
		return ""
	}
	k.note("data: downloading Cora (at most %s)", demoPatient)
	ctx, cancel := context.WithTimeout(ctx, demoPatient)
	defer cancel()
	path, err := dataset.Fetch(ctx, "planetoid_cora", roots[0], nil)
	if err != nil {
		return ""
	}
	k.note("data: Cora, now in %s", path)
	return path
}

// Shape of the generated graph: like Cora, but with communities that a partitioner can find.
const (
	demoVertices = 4000
	demoClasses  = 7
	demoDegree   = 8
	demoInside   = 0.8  // share of edges inside a community
	demoWrong    = 0.05 // share of labels that are wrong, so that no score can be perfect
	demoWords    = 600
	demoLength   = 12
	demoSignal   = 0.35 // share of words from a community's own topic
)

// generate draws a graph with communities, bags of words and labels.
func generate(cfg *trainConfig) (*learnable, error) {
	g, block, err := graph.Blocks(demoVertices, demoClasses, demoDegree, demoInside, cfg.Seed)
	if err != nil {
		return nil, err
	}
	indptr, indices, data, err := graph.Words(block, demoClasses, demoWords, demoLength, demoSignal, cfg.Seed)
	if err != nil {
		return nil, err
	}
	d := &dataset.Dataset{
		Name: "generated", Graph: g, Labels: graph.FlipLabels(block, demoClasses, demoWrong, cfg.Seed), Classes: demoClasses,
		Features: dataset.Features{Cols: demoWords, Indptr: indptr, Indices: indices, Data: data},
	}
	var p *pipeline.Problem
	if p, err = newProblem(d, cfg); err != nil {
		return nil, err
	}
	return &learnable{name: d.Name, problem: p}, nil
}

// demoSummary says what came out and what to do next.
func demoSummary(w io.Writer, r *runResult, datasetPath string) error {
	next := "capgnn train --dataset FILE --devices cpu:0,cpu:1"
	if datasetPath != "" {
		next = fmt.Sprintf("capgnn train --dataset %s --model sage", datasetPath)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "data\t%s\n", r.Dataset)
	fmt.Fprintf(t, "trained\t%s on %d devices (%s), %d epochs\n", r.Model, len(r.Devices), strings.Join(r.Devices, " "), r.Epochs)
	fmt.Fprintf(t, "%s\ttest %s  validation %s  (at the best validation epoch)\n", r.Metric, score(r.Test), score(r.Val))
	fmt.Fprintf(t, "epoch time\t%s (median)\n", duration(r.EpochS.Median))
	fmt.Fprintf(t, "run folder\t%s\n", r.RunDir)
	fmt.Fprintf(t, "next\t%s\n", next)
	fmt.Fprintf(t, "\tcapgnn train --help\n")
	return t.Flush()
}
