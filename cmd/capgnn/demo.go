package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/graph/dataset/fetch"
	"capgnn/profiler"
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
		UsageText:   "capgnn demo",
		Usage:       "measure two CPU devices, cut a small graph in two, and train on both",
		Description: "Uses Cora if it is found or can be downloaded within a few seconds, else a generated graph.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "generated", Usage: "use the generated graph even if Cora is found"},
			&cli.StringFlag{Name: "run-dir", Usage: "`DIR` of the run (default: runs/DATASET-MODEL-TIME)"},
		},
		Action: demoAction,
	}
}

func demoAction(c *cli.Context) error {
	k := term.NewConsole(c)
	ctx, stop := term.Interruptible(c.Context, k, "after this epoch")
	defer stop()
	t := training.New(k, c.Command.Name, runfolder.Default())
	t.RunPath, t.Config.Devices, t.Config.Epochs = c.String("run-dir"), demoDevices, demoEpochs
	if t.RunPath != "" {
		if err := runfolder.Dir(t.RunPath).Free(false); err != nil {
			return err
		}
	}
	data, err := demoData(ctx, k, &t.Config, c.Bool("generated"))
	if err != nil {
		return err
	}
	t.Data = data
	if err := t.Config.Validate(); err != nil {
		return err
	}
	if err := demoProfile(ctx, k, t.Config.Devices); err != nil {
		return t.BeforeTraining(err)
	}
	result, err := t.Do(ctx)
	if err != nil {
		return err
	}
	if k.JSON {
		return result.Print(k)
	}
	return demoSummary(k.Out, result, t.Config.DatasetPath, invocation())
}

// demoProfile measures the devices and shows the table.
func demoProfile(ctx context.Context, k *term.Console, list string) error {
	specs, err := devices.Parse(list)
	if err != nil {
		return err
	}
	devices.ShareCores(specs, devices.Cores())
	p, err := devices.Measure(ctx, k, specs, profiler.Options{Quick: true})
	if err != nil || k.Quiet {
		return err
	}
	for line := range strings.Lines(p.Table()) {
		k.Note("%s", strings.TrimSuffix(line, "\n"))
	}
	return nil
}

// demoData returns Cora, or a generated graph where it cannot be had.
func demoData(ctx context.Context, k *term.Console, cfg *runfolder.Config, generated bool) (*datasets.Input, error) {
	if !generated {
		path, err := findCora(ctx, k)
		if err == nil {
			cfg.Dataset, cfg.DatasetPath = "cora", path
			var data *datasets.Input
			if data, err = datasets.Load(ctx, k, cfg); err == nil {
				return data, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		k.Note("data: no Cora, so a generated graph takes its place (%s)", term.OneLine(err))
	}
	cfg.Dataset, cfg.DatasetPath = datasets.Generated, ""
	return datasets.Load(ctx, k, cfg)
}

// findCora returns where Cora lies, after downloading it if need be.
func findCora(ctx context.Context, k *term.Console) (string, error) {
	roots := term.DataRoots()
	if path, _, err := fetch.Resolve("cora", roots); err == nil {
		k.Note("data: Cora from %s", path)
		return path, nil
	}
	if len(roots) == 0 {
		return "", errors.New("there is no folder for data: set CAPGNN_DATA")
	}
	ctx, cancel := context.WithTimeout(ctx, demoPatient)
	defer cancel()
	bar := &fetchBar{k: k, title: "download Cora"}
	defer bar.end()
	path, err := fetch.Download(ctx, "planetoid_cora", roots[0], fetch.Options{Progress: bar.at})
	if err == nil {
		bar.end()
		k.Note("data: Cora, downloaded to %s", path)
	}
	return path, err
}

// invocation returns how the user called this program.
func invocation() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/capgnn"
	}
	return os.Args[0]
}

// demoSummary says what came out and what to do next; program is how to call it.
func demoSummary(w io.Writer, r *runfolder.Result, datasetPath, program string) error {
	next := datasets.Generated
	if datasetPath != "" {
		next = datasetPath
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "data\t%s\n", r.Dataset)
	fmt.Fprintf(t, "trained\t%s on %d devices (%s), %d epochs\n", r.Model, len(r.Devices), strings.Join(r.Devices, " "), r.Epochs)
	fmt.Fprintf(t, "%s\ttest %s  validation %s  (at the best validation epoch)\n", r.Metric, term.Score(r.Test), term.Score(r.Val))
	fmt.Fprintf(t, "epoch time\t%s (median)\n", term.Duration(r.EpochS.Median))
	fmt.Fprintf(t, "run folder\t%s\n", r.RunDir)
	fmt.Fprintf(t, "for a browser\t%s\n", runfolder.Dir(r.RunDir).Report())
	fmt.Fprintf(t, "next\t%s train --dataset %s --model sage\n", program, next)
	fmt.Fprintf(t, "\t%s train --help\n", program)
	return t.Flush()
}
