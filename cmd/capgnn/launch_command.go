package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// launchable are the commands that several ranks can run.
var launchable = []string{"train", "predict", "doctor", "profile"}

func launchCommand() *cli.Command {
	return &cli.Command{
		Name: "launch", ArgsUsage: "-- COMMAND", UsageText: "capgnn launch -n 2 --hosts node1,node2 -- train --dataset cora --run-dir runs/first",
		Usage: "run train, predict, doctor or profile in several processes (ranks), on this machine or on others by ssh",
		Description: "Ranks on one machine share its devices and cores equally, unless --devices after the command names devices, which then every rank uses. Other machines need the same program at the same path, and an ssh key, so that ssh asks for no password. " +
			"Notes of a rank begin with [RANK HOST]. Rank 0 prints the result. If a rank fails, all end; the last line says which failed first, and why. Ctrl-C ends all ranks after the same epoch, or the same step on a mini-batch, with a checkpoint. " +
			"Slurm, Open MPI, Kubernetes and torchrun can start ranks instead: `capgnn train` reads their variables.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "n", Usage: "number `N` of ranks on all machines together (default: one on each of --hosts)", DefaultText: " "},
			&cli.StringFlag{Name: "hosts", Usage: "`LIST` of machines, such as node1,node2 or node[01-04]; rank 0 is on the first (default: this machine)"},
			&cli.IntFlag{Name: "port", Usage: "`PORT` of rank 0 (default: a free one; with --hosts 29500)", DefaultText: " "},
			&cli.IntFlag{Name: "max-restarts", Usage: "continue the run up to `K` times from its last checkpoint if a rank is lost"},
		},
		Action: launchAction,
	}
}

func launchAction(c *cli.Context) error {
	l, err := newLaunch(c)
	if err != nil {
		return err
	}
	signals, stop := term.Interruptions()
	defer stop()
	l.Signals = signals
	if err := l.CheckPrograms(c.Context, term.ReadBuildInfo()); err != nil {
		return err
	}
	err = l.Run()
	if f := (*ranks.Failed)(nil); errors.As(err, &f) {
		return &term.Elsewhere{Code: f.Code, Line: term.OneLine(f)}
	}
	return err
}

// newLaunch reads the flags and the command of the ranks.
func newLaunch(c *cli.Context) (*ranks.Launch, error) {
	args := c.Args().Slice()
	if len(args) == 0 || !slices.Contains(launchable, args[0]) {
		return nil, term.Usagef("launch: name a command behind --, one of %s: `capgnn launch -n 2 -- train ...`", strings.Join(launchable, ", "))
	}
	if args[0] == "profile" && !slices.Contains(args, "--cluster") {
		return nil, term.Usagef("launch: profile measures one machine: add --cluster behind it to measure what connects the ranks")
	}
	if ranks.ValueOf(args, "ranks") != "" {
		return nil, term.Usagef("launch: --ranks behind %s: launch tells each rank its place: drop it", args[0])
	}
	if p := c.Int("port"); p < 0 || p > 65535 || c.IsSet("port") && p == 0 {
		return nil, term.Usagef("--port %d is no number from 1 to 65535", p)
	}
	hosts, err := ranks.Hosts(c.Int("n"), c.String("hosts"))
	if err != nil {
		return nil, err
	}
	l := &ranks.Launch{Args: args, Hosts: hosts, Port: c.Int("port"), Secret: ranks.NewSecret(), Remote: ranks.SSH{}, MaxRestarts: c.Int("max-restarts"),
		Out: c.App.ErrWriter, Err: c.App.ErrWriter, Result: c.App.Writer}
	if l.Program, err = os.Executable(); err != nil {
		return nil, err
	}
	if l.Dir, err = os.Getwd(); err != nil {
		return nil, err
	}
	for _, name := range []string{"json", "quiet"} { // said for the launch
		if c.Bool(name) {
			l.Args = append(slices.Clone(l.Args), "--"+name)
		}
	}
	return l, restart(l)
}

// restart settles how a run is started again that lost a rank.
func restart(l *ranks.Launch) error {
	if l.MaxRestarts < 0 {
		return term.Usagef("--max-restarts %d is below 0", l.MaxRestarts)
	}
	folder := ranks.ValueOf(l.Args, "run-dir")
	if folder == "" {
		folder = ranks.ValueOf(l.Args, "resume")
	}
	if l.MaxRestarts > 0 && folder == "" {
		return term.Usagef("--max-restarts %d: name the run's folder with --run-dir behind %s, so that a restart finds it", l.MaxRestarts, l.Args[0])
	}
	l.Again = func(args []string) []string {
		if !l.There(context.Background(), runfolder.Dir(folder).Config()) {
			return args // it had not begun to train
		}
		return ranks.Resuming(args, folder)
	}
	return nil
}
