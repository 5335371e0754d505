package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

func planCommand() *cli.Command {
	return &cli.Command{
		Name:  "plan",
		Usage: "forecast memory and time of a training run, without training", UsageText: "capgnn plan --dataset coauthor_physics --devices cpu:threads=1,cpu:threads=1,slow=3",
		Description: "Takes the flags of train and says whether the run fits, how long an epoch would take, which of the devices are best, what memory it needs, and below which rate of links encoded rows of other parts pay. With --machines and net= it says what one machine would take, two, and so on, and whether a further one pays. With --batch-size it samples steps and says what memory they need at most, and of several parts what rows an epoch fetches, by the place of roots and the way to fetch; with --machines too, what machines send each other in an epoch. Exit code 3: a device is too small.",
		Flags:       append(runfolder.FlagsOf(runfolder.FlagNames(runfolder.Option.Setting)...), &cli.BoolFlag{Name: "buffers", Usage: "also list every buffer of every device with its size"}),
		Action:      planAction,
	}
}

func planAction(c *cli.Context) error {
	k := term.NewConsole(c)
	ctx, stop := term.Interruptible(c.Context, k, "now")
	defer stop()
	t, err := beginTraining(c, k, nil)
	if err != nil {
		return err
	}
	machines := t.Config.Machines.String() != ""
	if machines && (t.Config.Net.String() != "" || t.Config.Sampled()) {
		return planMachines(ctx, t)
	}
	t.BeginStages("prepare")
	defer t.Console.EndStages()
	for _, step := range t.BeforeMemory() {
		if err := errors.Join(step(ctx), ctx.Err()); err != nil {
			return t.BeforeTraining(err)
		}
	}
	if machines {
		k.Note("note: --machines without net: what crosses between machines takes no time in this forecast; say what connects them, as in --machines %s,net=10Gbit/s", t.Config.Machines)
	}
	t.Console.Enter(term.Checking)
	if t.Config.Sampled() {
		p, err := t.PlanSampled(ctx)
		if err == nil && p.Epoch.Fetched > 0 {
			p.Rows, err = t.PlanRows(ctx)
		}
		t.Console.EndStages()
		if err == nil {
			err = printSampled(ctx, t, p, c.Bool("buffers"))
		}
		return devices.CloseAfter(t.BeforeTraining(err), t.Devices)
	}
	m, err := t.PlanMemory(ctx)
	var misfit error
	if err == nil {
		misfit = t.FitMemory(ctx, m)
	}
	t.Console.EndStages()
	if len(t.Specs) == 1 && t.Profile == nil && t.Config.Profile == "" && !t.Specs[0].Simulated() { // which nothing had to be known of
		t.Profile = devices.Kept(k, t.Specs)
	}
	if err := errors.Join(err, devices.CloseAll(t.Devices)); err != nil {
		return t.BeforeTraining(err)
	}
	if len(t.Specs) > 1 || t.Specs[0].Simulated() || t.Config.Profile != "" || t.Profile != nil {
		if m.Subsets, err = t.Subsets(ctx); err != nil {
			return t.BeforeTraining(err)
		}
		if t.Config.Isolated.Value == nil {
			if m.Encoding, err = t.EncodedRows(ctx); err != nil {
				return t.BeforeTraining(err)
			}
		}
	}
	return errors.Join(printPlan(m, k, c.Bool("buffers")), misfit)
}
