package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/bench"
)

// benchAll is every experiment one after the other.
const benchAll = "all"

// benchOptions are the flags of capgnn bench.
type benchOptions struct {
	Datasets []string // nil: those of the experiment
	Devices  string   // "": those of the experiment
	Seeds    []uint64
	Epochs   int // 0: those of the experiment
	Quick    bool
	Out      string
	Python   string
}

func benchCommand() *cli.Command {
	cmd := &cli.Command{
		Name:  "bench",
		Usage: "repeat the experiments of the paper", ArgsUsage: "EXPERIMENT",
		Action: overSubcommands("bench"),
	}
	for _, e := range experiments() {
		cmd.Subcommands = append(cmd.Subcommands, benchSubcommand(e.name, e.usage, []experiment{e}))
	}
	cmd.Subcommands = append(cmd.Subcommands, benchSubcommand(benchAll, "all of these, and report.md and report.html of them", experiments()))
	return cmd
}

func benchSubcommand(name, usage string, list []experiment) *cli.Command {
	sub := &cli.Command{
		Name: name, Usage: usage, UsageText: "capgnn bench " + name + " --quick --out bench/" + name,
		Description: "Writes a page (.html), tables (.csv, .md), figures (.png, .svg), environment.json and cells.jsonl, one line for each result, into one folder. The same command goes on where an interrupted one was. " +
			"Times of simulated devices (sim:) are simulated; scores come from training on CPU devices, on the same parts.",
		Flags: append(benchFlags(), outputFlags()...),
		OnUsageError: func(c *cli.Context, err error, _ bool) error {
			return flagProblem(err, c.Command.Flags, "capgnn bench "+name+" --help")
		},
	}
	if name == "peers" || name == benchAll {
		sub.Flags = append(sub.Flags, &cli.StringFlag{Name: "python", Usage: "interpreter `FILE` that has torch, and torch_geometric or dgl for more baselines"})
	}
	sub.Action = inheriting(withoutArguments("bench "+name, func(c *cli.Context) error { return benchAction(c, name, list) }))
	return sub
}

func benchFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "datasets", Usage: "`LIST` of data sets: as for train, or PRESET:SCALE for a stand-in that is generated (reddit-like:0.1)", DefaultText: "those of the experiment"},
		&cli.StringFlag{Name: "devices", Usage: "`LIST` as for train; experiments over groups of devices take its first two, three, …", DefaultText: "those of the experiment, simulated"},
		&cli.StringFlag{Name: "seeds", Usage: "`LIST` of seeds of splits, weights and parts, such as 1,2,3", DefaultText: "1"},
		&cli.IntFlag{Name: "epochs", Usage: "number `N` of epochs of runs that train", DefaultText: "those of the experiment"},
		&cli.BoolFlag{Name: "quick", Usage: "small graphs and few epochs: to see that it works, not to compare"},
		&cli.StringFlag{Name: "out", Usage: "`DIR` for the results", DefaultText: "bench/EXPERIMENT"},
	}
}

func readBenchOptions(c *cli.Context, name string) (benchOptions, error) {
	o := benchOptions{Devices: c.String("devices"), Epochs: c.Int("epochs"), Quick: c.Bool("quick"), Out: c.String("out"), Python: c.String("python"), Seeds: []uint64{1}}
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
				return o, term.Usagef("--seeds %q: %q is not a number or stands there twice", c.String("seeds"), item)
			}
			o.Seeds = append(o.Seeds, seed)
		}
	}
	if c.IsSet("devices") {
		if err := devices.Check(o.Devices); err != nil {
			return o, err
		}
	}
	return o, nil
}

// benchRun is a run of experiments that write into one folder.
type benchRun struct {
	k       *term.Console
	opt     benchOptions
	journal *bench.Journal
	loaded  *loadedData // the data set that was used last
	noted   map[string]bool
	about   []bench.Fact // where the results come from
	// peersOnly says that nothing but peers is asked for, so that a missing --python is an error.
	peersOnly bool
}

// cell is one result that an experiment wants.
type cell struct {
	id      bench.Cell
	measure func(ctx context.Context) (*bench.Line, error)
}

// experiment is one of the paper, or of ours.
type experiment struct {
	name, usage string
	full, quick []string // data sets
	// plan says which cells there are, and shows them once they have lines.
	plan func(b *benchRun, datasets []string) ([]cell, func() bench.Section, error)
}

func benchAction(c *cli.Context, name string, list []experiment) error {
	k := term.NewConsole(c)
	o, err := readBenchOptions(c, name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return term.Usagef("--out: %w", err)
	}
	b := &benchRun{k: k, opt: o, noted: map[string]bool{}, peersOnly: name == "peers"}
	if b.journal, err = bench.Open(filepath.Join(o.Out, "cells.jsonl")); err != nil {
		return term.Usagef("--out: %w", err)
	}
	ctx, stop := term.Interruptible(c.Context, k, "as soon as possible")
	defer stop()
	k.OnInterrupt("results so far lie in " + o.Out + ": the same command goes on")
	sections, err := b.all(ctx, list)
	if err == nil && name == benchAll {
		err = bench.WriteReport(o.Out, "capgnn bench all", b.about, sections)
	}
	if err := errors.Join(err, b.forget(), b.journal.Close()); err != nil {
		if ctx.Err() != nil {
			return &term.InterruptedError{Note: "results so far lie in " + o.Out + ": the same command goes on"}
		}
		return err
	}
	return b.print(sections)
}

// all runs the experiments and writes what they show.
func (b *benchRun) all(ctx context.Context, list []experiment) ([]bench.Section, error) {
	b.noteLoad()
	if err := b.writeEnvironment(); err != nil {
		return nil, err
	}
	var sections []bench.Section
	for _, e := range list {
		s, err := b.one(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("bench %s: %w", e.name, err)
		}
		if s == nil {
			continue
		}
		if err := errors.Join(s.Write(b.opt.Out), s.Remove(b.opt.Out), s.WritePage(b.opt.Out, b.about)); err != nil {
			return nil, err
		}
		sections = append(sections, *s)
	}
	return sections, nil
}

// one measures what has no line yet and returns what the experiment shows; nil: there is nothing that it could run on.
func (b *benchRun) one(ctx context.Context, e experiment) (*bench.Section, error) {
	names, err := b.datasets(e)
	if err != nil {
		return nil, err
	}
	cells, show, err := e.plan(b, names)
	if err != nil || len(cells) == 0 {
		return nil, err
	}
	bar := b.k.Begin("bench "+e.name, int64(len(cells)), "cells", 2*time.Second)
	defer bar.End()
	for i, c := range cells {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if b.journal.Find(c.id) == nil {
			start := time.Now()
			l, err := c.measure(ctx)
			if err := errors.Join(err, ctx.Err()); err != nil {
				return nil, err
			}
			l.Cell, l.Seconds = c.id, time.Since(start).Seconds()
			if err := b.journal.Append(l); err != nil {
				return nil, err
			}
		}
		bar.At(int64(i+1), c.id["dataset"])
	}
	bar.End()
	s := show()
	s.Name = e.name
	return &s, nil
}

// line returns what was measured for a cell.
func (b *benchRun) line(id bench.Cell) *bench.Line { return b.journal.Find(id) }

// quietly is a console for what runs inside a cell.
func (b *benchRun) quietly() *term.Console {
	return &term.Console{Out: b.k.Err, Err: b.k.Err, Quiet: true}
}

// print says where the results are: a JSON object, or the tables.
func (b *benchRun) print(sections []bench.Section) error {
	type shown struct {
		Experiment string        `json:"experiment"`
		Title      string        `json:"title"`
		Tables     []bench.Table `json:"tables"`
	}
	if b.k.JSON {
		out := struct {
			Out     string  `json:"out"`
			Results []shown `json:"results"`
		}{Out: b.opt.Out}
		for _, s := range sections {
			out.Results = append(out.Results, shown{s.Name, s.Title, s.Tables})
		}
		return json.NewEncoder(b.k.Out).Encode(out)
	}
	for _, s := range sections {
		if err := s.Print(b.k.Out); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(b.k.Out, "results: %s\n", b.opt.Out)
	return err
}

// seeds, epochs and devices of an experiment, unless flags say otherwise.
func (b *benchRun) epochs(full, quick int) int {
	switch {
	case b.opt.Epochs > 0:
		return b.opt.Epochs
	case b.opt.Quick:
		return quick
	}
	return full
}

// fours are the devices of the paper's Table 8, and groups those of its Table 4 in the order in which they are added.
const (
	fours  = "sim:rtx3090,sim:rtx3090,sim:a40,sim:a40"
	groups = fours + ",sim:rtx3060,sim:rtx3060,sim:gtx1660ti,sim:gtx1660ti"
)

// deviceList returns the devices of the experiment, or those of --devices.
func (b *benchRun) deviceList(standard string) ([]devices.Spec, error) {
	return devices.Parse(cmp.Or(b.opt.Devices, standard))
}

// group is the first devices of a list: x2 has two.
type group struct{ name, devices string }

// groupsOf returns the first lo, lo+1, … hi devices of --devices or of the paper's Table 4, as far as there are that many.
func (b *benchRun) groupsOf(lo, hi int) ([]group, error) {
	specs, err := b.deviceList(groups)
	if err != nil {
		return nil, err
	}
	devices.ShareCores(specs, devices.Cores())
	var out []group
	for n := lo; n <= min(hi, len(specs)); n++ {
		out = append(out, group{"x" + strconv.Itoa(n), devices.Format(specs[:n])})
	}
	if out == nil {
		return nil, term.Usagef("--devices names %d devices: give at least %d", len(specs), lo)
	}
	return out, nil
}
