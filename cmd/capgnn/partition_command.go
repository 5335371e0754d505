package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/rapa"
)

func partitionCommand() *cli.Command {
	flags := runfolder.FlagsOf(runfolder.FlagNames(func(o runfolder.Option) bool { return slices.Contains(runfolder.PartitionOptions, o.Name) })...)
	return &cli.Command{
		Name:  "partition",
		Usage: "cut a graph into parts for devices", UsageText: "capgnn partition --dataset coauthor_physics --parts 4 --out physics.plan",
		Description: "With --parts alone, parts hold equally many vertices (or what --partitioner by= names). With --devices, they are sized for these: " +
			"by what a profile says they can do and what they can hold. `capgnn train --plan` takes the file of --out. " +
			"--shards with --machines writes a shard of the data set for each machine; then `capgnn train --dataset DIR` on these machines trains, and none of them needs the whole data set.",
		Flags: append(flags,
			&cli.StringFlag{Name: "out", Usage: "write the plan to `FILE`"},
			&cli.StringFlag{Name: "shards", Usage: "write a shard of the data set for each of --machines to the new folder `DIR`; parts are equal, or sized by a --profile of each machine (a.json,b.json)"},
			&cli.StringFlag{Name: "plot", Usage: "draw vertices, edges and cost of the parts into `NAME`.svg"}),
		Action: partitionAction,
	}
}

func partitionAction(c *cli.Context) error {
	k := term.NewConsole(c)
	ctx, stop := term.Interruptible(c.Context, k, "now")
	defer stop()
	shards, err := shardingOf(c)
	if err != nil {
		return err
	}
	t, err := beginTraining(c, k, nil)
	if err != nil {
		return err
	}
	if c.IsSet("plot") && os.IsPathSeparator(c.String("plot")[len(c.String("plot"))-1]) {
		return term.Usagef("--plot %s names a folder: add how its files begin, as in %sparts", c.String("plot"), c.String("plot"))
	}
	if err := term.CheckOut("out", c.String("out")); err != nil {
		return err
	}
	if base := c.String("plot"); base != "" && term.Exists(filepath.Dir(base)) { // else it is made
		if err := term.CheckOut("plot", plotFile(base)); err != nil {
			return err
		}
	}
	k.KeepStdoutFor(c.String("out"))
	steps := []training.Step{t.LoadGraph, t.ChooseDevices, func(ctx context.Context) error { return t.Decide(ctx, training.Divide) }}
	switch {
	case shards != nil:
		if err := shards.settle(c, t); err != nil {
			return err
		}
		steps = slices.Insert(steps, 1, func(context.Context) error { return shards.choosePartitioner(c, t) })
	case !c.IsSet("devices") && !c.IsSet("profile"):
		if !c.IsSet("parts") {
			return term.Usagef("partition: say into how many parts (--parts), or for what devices (--devices)")
		}
		t.Anonymous = true
		if t.Config.BalanceBy == "" {
			t.Config.BalanceBy = string(rapa.ByVertices)
		}
	}
	t.BeginStages("prepare")
	defer t.Console.EndStages()
	for _, step := range steps {
		if err := errors.Join(step(ctx), ctx.Err()); err != nil {
			return t.BeforeTraining(err)
		}
	}
	report, err := reportParts(ctx, t)
	t.Console.EndStages()
	if err != nil {
		return t.BeforeTraining(err)
	}
	if err := keepPlan(t, report, c.String("out"), c.String("plot")); err != nil {
		return err
	}
	if shards != nil {
		if err := shards.write(ctx, t); err != nil {
			return err
		}
		report.Shards = shards.dir
	}
	return errors.Join(report.print(k), report.misfit())
}
