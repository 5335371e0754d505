package main

import (
	"cmp"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/experiments"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// benchAll is every experiment one after the other.
const benchAll = "all"

func benchCommand() *cli.Command {
	cmd := &cli.Command{
		Name:  "bench",
		Usage: "repeat the experiments of the papers", ArgsUsage: "EXPERIMENT",
		Action: overSubcommands("bench"),
	}
	for _, e := range experiments.All() {
		cmd.Subcommands = append(cmd.Subcommands, benchSubcommand(e.Name, e.Usage, []experiments.Experiment{e}))
	}
	cmd.Subcommands = append(cmd.Subcommands, benchSubcommand(benchAll, "all of these, and report.md and report.html of them", experiments.All()))
	return cmd
}

func benchSubcommand(name, usage string, list []experiments.Experiment) *cli.Command {
	sub := &cli.Command{
		Name: name, Usage: usage, UsageText: "capgnn bench " + name + " --quick --out bench/" + name,
		Description: "Writes a page (.html), tables (.csv, .md), figures (.svg), environment.json and cells.jsonl (one line per result) into one folder. The same command continues after an interruption. " +
			"Times of simulated devices (sim:) are simulated; scores come from training on CPU devices with the same parts.",
		Flags: append(benchFlags(), outputFlags()...),
		OnUsageError: func(c *cli.Context, err error, _ bool) error {
			return flagProblem(err, c.Command.Flags, "capgnn bench "+name+" --help")
		},
	}
	if name == "peers" || name == "sampler" || name == benchAll {
		sub.Flags = append(sub.Flags, &cli.StringFlag{Name: "python", Usage: "interpreter `FILE` that has torch, and torch_geometric or dgl for more baselines"})
	}
	if experiments.OverRanks(name) {
		sub.Flags = append(sub.Flags, &cli.IntFlag{Name: "ranks", Usage: "train on `N` ranks instead of counting, and compare epoch times, bytes and waiting times of its settings. The command starts them on this machine, unless mpirun, srun or scripts/netlab has started it as several ranks, with a folder --out that all share", DefaultText: "count"})
	}
	sub.Action = inheriting(withoutArguments("bench "+name, func(c *cli.Context) error { return benchAction(c, name, list) }))
	return sub
}

func benchFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "datasets", Usage: "`LIST` of data sets: as for train, or PRESET:SCALE for a generated stand-in (reddit-like:0.1)", DefaultText: "those of the experiment"},
		&cli.StringFlag{Name: "devices", Usage: "`LIST` as for train; experiments over groups of devices take its first two, three, …", DefaultText: "those of the experiment, simulated"},
		&cli.StringFlag{Name: "seeds", Usage: "`LIST` of seeds of splits, weights and parts, such as 1,2,3", DefaultText: "1"},
		&cli.IntFlag{Name: "epochs", Usage: "number `N` of epochs of runs that train", DefaultText: "those of the experiment"},
		&cli.BoolFlag{Name: "quick", Usage: "use small graphs and few epochs: to check that it works, not to compare"},
		&cli.StringFlag{Name: "out", Usage: "`DIR` for the results", DefaultText: "bench/EXPERIMENT"},
	}
}

func readBenchOptions(c *cli.Context, name string) (experiments.Options, error) {
	o := experiments.Options{Devices: c.String("devices"), Epochs: c.Int("epochs"), Quick: c.Bool("quick"), Out: c.String("out"), Python: c.String("python"), Seeds: []uint64{1}}
	o.Out = cmp.Or(o.Out, filepath.Join("bench", name))
	if c.IsSet("epochs") && (o.Epochs < 1 || o.Epochs > runfolder.MaxEpochs) {
		return o, term.Usagef("--epochs %d is not in [1, %d]", o.Epochs, runfolder.MaxEpochs)
	}
	if c.IsSet("datasets") {
		if o.Datasets = strings.Split(c.String("datasets"), ","); slices.Contains(o.Datasets, "") {
			return o, term.Usagef("--datasets %q: a name is empty", c.String("datasets"))
		}
	}
	if c.IsSet("seeds") {
		o.Seeds = nil
		for item := range strings.SplitSeq(c.String("seeds"), ",") {
			seed, err := strconv.ParseUint(strings.TrimSpace(item), 10, 64)
			if err != nil || slices.Contains(o.Seeds, seed) {
				return o, term.Usagef("--seeds %q: %q is not a number, or is given twice", c.String("seeds"), item)
			}
			o.Seeds = append(o.Seeds, seed)
		}
	}
	if c.IsSet("ranks") {
		var err error
		if o.Ranks, o.Place, err = benchRanks(c.Int("ranks")); err != nil {
			return o, err
		}
	}
	if c.IsSet("devices") {
		if err := devices.Check(o.Devices); err != nil {
			return o, err
		}
	}
	return o, nil
}

// benchRanks returns over how many ranks an experiment trains, and which of them this process is.
func benchRanks(n int) (int, experiments.Place, error) {
	var p experiments.Place
	if n < 2 || n > cluster.MaxRanks {
		return 0, p, term.Usagef("--ranks %d is not in [2, %d]", n, cluster.MaxRanks)
	}
	here, err := cluster.Find(cluster.Flags{}, os.LookupEnv)
	if err != nil {
		return 0, p, term.AsUsage(err)
	}
	if here.Ranks < 2 {
		return n, p, nil
	}
	if here.Ranks != n {
		return 0, p, term.Usagef("--ranks %d: %s has started %d: give as many", n, here.Source, here.Ranks)
	}
	host, port, err := net.SplitHostPort(here.Master)
	if err != nil {
		return 0, p, term.AsUsage(err)
	}
	p.Rank, p.Master = here.Rank, host
	p.Port, err = strconv.Atoi(port)
	return n, p, term.AsUsage(err)
}

func benchAction(c *cli.Context, name string, list []experiments.Experiment) error {
	k := term.NewConsole(c)
	o, err := readBenchOptions(c, name)
	if err != nil {
		return err
	}
	b, err := experiments.New(k, o, name == "peers")
	if err != nil {
		return err
	}
	ctx, stop := term.Interruptible(c.Context, k, "as soon as possible")
	defer stop()
	k.OnInterrupt("results so far are in " + o.Out + ": the same command continues")
	return b.Run(ctx, list, name == benchAll)
}
