package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

func planCommand() *cli.Command {
	return &cli.Command{
		Name:  "plan",
		Usage: "say what a training run would take, without training", UsageText: "capgnn plan --dataset coauthor_physics --devices cpu:threads=1,cpu:threads=1,slow=3",
		Description: "Takes the flags of train and says whether the run fits, how long an epoch would take, which of the devices are best and what memory it needs. Exit code 3: a device is too small.",
		Flags:       append(runfolder.Flags(), &cli.BoolFlag{Name: "buffers", Usage: "list every buffer of every device with its size, too"}),
		Action:      planAction,
	}
}

func planAction(c *cli.Context) error {
	k := term.NewConsole(c)
	ctx, stop := term.Interruptible(c.Context, k, "now")
	defer stop()
	t, err := newTraining(c, k)
	if err != nil {
		return err
	}
	t.beginStages("prepare")
	defer t.k.EndStages()
	for _, step := range []func(context.Context) error{t.load, t.chooseDevices, t.divide, t.settleCache, t.arrange, t.open} {
		if err := errors.Join(step(ctx), ctx.Err()); err != nil {
			return t.beforeTraining(err)
		}
	}
	t.k.Enter(term.Checking)
	m, err := t.planMemory(ctx)
	t.k.EndStages()
	if err := errors.Join(err, devices.CloseAll(t.devices)); err != nil {
		return t.beforeTraining(err)
	}
	if len(t.specs) > 1 || t.specs[0].Simulated() || t.cfg.Profile != "" {
		if m.Subsets, err = t.subsets(ctx); err != nil {
			return t.beforeTraining(err)
		}
	}
	return errors.Join(m.print(k, c.Bool("buffers")), m.fit())
}
