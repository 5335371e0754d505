package main

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
)

func dataCommand() *cli.Command {
	cmd := &cli.Command{
		Name:  "data",
		Usage: "list, inspect, convert and generate data sets", ArgsUsage: "COMMAND",
		Action: overSubcommands("data"),
		Subcommands: []*cli.Command{
			{
				Name: "info", Usage: "print what is in a data set", UsageText: "capgnn data info cora", ArgsUsage: "DATASET", Flags: readingFlags(),
				Description: "Prints sizes, degrees, symmetry, features, classes, splits and edge homophily of a data set, which may be a NAME, a store, or a file or folder of another format.",
				Action:      onePositional("DATASET", dataInfoAction),
			},
			{
				Name: "list", UsageText: "capgnn data list", Usage: "list the data sets on this machine, and published ones with their sources",
				Description: "Looks for data sets in the folders of $CAPGNN_DATA, else in $XDG_DATA_HOME/capgnn.",
				Action:      withoutArguments("data list", dataListAction),
			},
			dataFetchCommand(),
			dataTablesCommand(),
			{
				Name: "import", Usage: "convert a data set to a store", UsageText: "capgnn data import cora.npz --out cora-store", ArgsUsage: "SRC",
				Flags:       append(readingFlags(), outFlag(), &cli.BoolFlag{Name: "allow-overlap", Usage: runfolder.AllowOverlapUsage}),
				Description: "A store is a folder of NumPy arrays, which are memory-mapped.",
				Action:      onePositional("SRC", dataImportAction),
			},
			{
				Name: "synth", UsageText: "capgnn data synth reddit-like --scale 0.05 --out reddit", Usage: "generate a stand-in for a published data set", ArgsUsage: "PRESET",
				Flags: []cli.Flag{
					outFlag(),
					&cli.Float64Flag{Name: "scale", Value: 1, Usage: "`SHARE` of the published data set's vertices and edges; the mean degree stays the same, if possible"},
					&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED`: the same seed gives the same files on every machine"},
				},
				Description: "Presets: " + presetNames() + ". Files are described in docs/formats/synth.md.",
				Action:      onePositional("PRESET", dataSynthAction),
			},
		},
	}
	return withOutput(cmd)
}

// withOutput gives the subcommands of a command the flags of output, and usage errors that name them.
func withOutput(cmd *cli.Command) *cli.Command {
	for _, sub := range cmd.Subcommands {
		sub.Flags = append(sub.Flags, outputFlags()...)
		sub.OnUsageError = dataUsageProblem("capgnn " + cmd.Name + " " + sub.Name)
		sub.Action = inheriting(sub.Action)
	}
	return cmd
}

func readingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "edges", Value: dataset.Auto, Usage: "read edges as `KIND`: symmetric, directed or reversed; auto = as the format says"},
		&cli.StringFlag{Name: "standardize", Value: dataset.Auto, Usage: "`HOW` features are scaled: train (columns are centred and scaled by the training rows), rows (each row is divided by the sum of its absolute values) or none; auto = train for GraphSAINT folders"},
		&cli.BoolFlag{Name: "ignore-weights", Usage: runfolder.IgnoreWeightsUsage},
		&cli.StringFlag{Name: "features", Value: dataset.FeaturesStored, Usage: runfolder.FeaturesUsage},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of --features random:WIDTH and of --split"},
		&cli.StringFlag{Name: "split", Usage: runfolder.SplitUsage},
		&cli.BoolFlag{Name: "compact", Usage: "renumber the vertices of an edge list whose ids have gaps"},
	}
}

func outFlag() cli.Flag {
	return &cli.StringFlag{Name: "out", Usage: "new folder `DIR` of the store"}
}

// inheriting hands the flags that stand before the second word of a command down to it.
func inheriting(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		for _, f := range outputFlags() {
			name := f.Names()[0]
			if c.Lineage()[1].Bool(name) && !c.IsSet(name) {
				if err := c.Set(name, "true"); err != nil {
					return err
				}
			}
		}
		return action(c)
	}
}

// dataUsageProblem is usageProblem for a command of two words.
func dataUsageProblem(words string) cli.OnUsageErrorFunc {
	return func(c *cli.Context, err error, _ bool) error {
		return flagProblem(err, c.Command.Flags, words+" --help")
	}
}

// onePositional calls action with the one positional argument of a command.
func onePositional(what string, action func(c *cli.Context, argument string) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		words := c.Lineage()[1].Command.Name + " " + c.Command.Name
		found, err := positionals(c, words)
		if err != nil {
			return err
		}
		if c.Bool("help") {
			return cli.ShowSubcommandHelp(c)
		}
		if len(found) != 1 {
			return term.Usagef("%s: give one %s, got %d: see `capgnn %s --help`", words, what, len(found), words)
		}
		return action(c, found[0])
	}
}

// openDataset finds and reads a data set as readingFlags say, and shows its notes.
func openDataset(ctx context.Context, c *cli.Context, k *term.Console, name string) (*dataset.Dataset, error) {
	split, err := runfolder.ParseSplit(c.String("split"))
	if err != nil {
		return nil, term.Usagef("%w", err)
	}
	path, err := datasets.Find(k, name)
	if err != nil {
		return nil, err
	}
	watch := &term.DataWatch{Ctx: ctx, Console: k, Verb: "read"}
	opt := dataset.Options{
		Edges: c.String("edges"), IgnoreWeights: c.Bool("ignore-weights"), Standardize: c.String("standardize"),
		Features: c.String("features"), Seed: c.Uint64("seed"), Compact: c.Bool("compact"),
		AllowOverlap: c.Bool("allow-overlap") || c.Command.Name == "info", Watch: watch.At,
	}
	if c.String("split") != "" {
		split.Read(&opt, opt.Seed)
	}
	d, err := formats.Load(path, opt)
	watch.End()
	if err != nil {
		return nil, term.Unreadable(err, "nothing was written")
	}
	for _, note := range d.Notes {
		k.Note("note: %s", note)
	}
	if abs, err := filepath.Abs(path); err == nil {
		d.Source = abs
	}
	return d, nil
}
