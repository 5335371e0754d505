package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gnn"
	"capgnn/internal/atomicfile"
	"capgnn/internal/number"
	"capgnn/model"
)

func modelCommand() *cli.Command {
	cmd := &cli.Command{
		Name:  "model",
		Usage: "list, show and check models", ArgsUsage: "COMMAND",
		Action: overSubcommands("model"),
		Subcommands: []*cli.Command{
			{
				Name: "list", UsageText: "capgnn model list", Usage: "list the models that have a name",
				Description: "With the settings that each takes; `capgnn train --help all` says what these mean.",
				Action:      withoutArguments("model list", modelListAction),
			},
			{
				Name: "show", Usage: "print a model as a file", UsageText: "capgnn model show gcn --layers 2 --hidden 64 --in-channels 1433 --out-channels 7 --out gcn.json", ArgsUsage: "MODEL",
				Flags: append(modelFlags(),
					&cli.IntFlag{Name: "in-channels", Value: 128, Usage: "number `N` of features"},
					&cli.IntFlag{Name: "out-channels", Value: 40, Usage: "number `N` of classes or labels"},
					&cli.StringFlag{Name: "out", Usage: "write to `FILE`"}),
				Description: "The file can be changed and trained: `capgnn train --model FILE.json`. docs/formats/model.md says what it may hold.",
				Action:      onePositional("MODEL", modelShowAction),
			},
			{
				Name: "check", Usage: "check a model's file, and say what the model takes and whether it can be trained", UsageText: "capgnn model check net.json --vertices 169343 --edges 2315598", ArgsUsage: "FILE",
				Flags: []cli.Flag{
					&cli.Int64Flag{Name: "vertices", Usage: "number `N` of vertices of a graph on which it is to be trained", DefaultText: " "},
					&cli.Int64Flag{Name: "edges", Usage: "number `N` of directed edges of that graph", DefaultText: " "},
				},
				Description: "It ends with the line that `capgnn train` would refuse the file with, and exit code 2, or with `trained  yes`. Memory and operations are those of one device, where every row is computed. `capgnn plan --model FILE.json --dataset NAME` says them for devices.",
				Action:      onePositional("FILE", modelCheckAction),
			},
		},
	}
	return withOutput(cmd)
}

// modelFlags are the flags of train that models differ by.
func modelFlags() []cli.Flag {
	return slices.DeleteFunc(runfolder.Flags(), func(f cli.Flag) bool {
		return !slices.Contains(runfolder.ModelOptions(), f.Names()[0])
	})
}

// modelLine is a model of `model list`.
type modelLine struct {
	Name    string   `json:"name"`
	Loops   bool     `json:"self_loops"` // part of its definition
	Options []string `json:"options"`
	Paper   string   `json:"paper"`
}

// optionsOf lists the flags of train that a model takes.
func optionsOf(b model.Builder) []string {
	return slices.DeleteFunc(runfolder.ModelOptions(), func(name string) bool { return !b.Has(name) })
}

func modelListAction(c *cli.Context) error {
	k := term.NewConsole(c)
	var lines []modelLine
	for _, b := range model.Builders {
		lines = append(lines, modelLine{b.Name, b.Loops == model.FullLoops, optionsOf(b), b.Paper})
	}
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(lines)
	}
	t := tabwriter.NewWriter(k.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MODEL\tself-loops\tpaper\tsettings")
	for _, l := range lines {
		loops := "no"
		if l.Loops {
			loops = "yes"
		}
		head := fmt.Sprintf("%s\t%s\t%s", l.Name, loops, l.Paper)
		for _, options := range term.Folded(strings.Join(l.Options, " "), term.Columns-47) {
			fmt.Fprintf(t, "%s\t%s\n", head, options)
			head = "\t\t"
		}
	}
	return t.Flush()
}

func modelShowAction(c *cli.Context, name string) error {
	k := term.NewConsole(c)
	out := c.String("out")
	if err := term.CheckOut("out", out); err != nil {
		return err
	}
	cfg := runfolder.Default()
	if _, err := runfolder.ApplyFlags(c, &cfg); err != nil {
		return err
	}
	cfg.Model, cfg.Dataset = name, "-" // which is not read
	b, err := model.Named(name)
	if err != nil {
		return term.Usagef("model show: %s is not one of %s", term.Quoted(name, runfolder.Models), strings.Join(runfolder.Models, ", "))
	}
	if err := cfg.Validate(); err != nil {
		return err
	}
	a := cfg.Arguments(c.Int("in-channels"), c.Int("out-channels"))
	a.Loops = b.Loops
	p, err := b.Build(a)
	if err != nil {
		return term.Usagef("model show: %w", err)
	}
	text := p.JSON()
	if out != "" {
		k.KeepStdoutFor(out)
		if err := atomicfile.Write(out, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
			return term.Usagef("--out: %w", err)
		}
		k.Note("model: %s", out)
	}
	switch {
	case k.JSON:
		var line bytes.Buffer
		if err := json.Compact(&line, text); err != nil {
			return err
		}
		text = append(line.Bytes(), '\n')
	case out != "":
		return nil
	}
	_, err = k.Out.Write(text)
	return err
}

// modelFacts is what `model check` prints.
type modelFacts struct {
	File       string   `json:"file"`
	SHA256     string   `json:"sha256"`
	Features   int      `json:"features"`
	Outputs    int      `json:"outputs"`
	Nodes      int      `json:"nodes"`
	Fixed      int      `json:"fixed"`
	Unused     []string `json:"unused,omitempty"` // nodes and tensors that the logits do not depend on
	Tensors    int      `json:"tensors"`
	Parameters int64    `json:"parameters"`
	Exchanges  int      `json:"exchanges"` // depths at which rows of neighbours are read that are not fixed
	AllRows    bool     `json:"all_rows"`  // a sum over all vertices makes every row needed
	Values     int64    `json:"value_bytes,omitempty"`
	Operations float64  `json:"operations,omitempty"`
}

func modelCheckAction(c *cli.Context, path string) error {
	k := term.NewConsole(c)
	file, err := filepath.Abs(path)
	if err != nil {
		return term.Usagef("%s: %w", path, err)
	}
	if slices.Contains(runfolder.Models, path) && !term.Exists(file) {
		return term.Usagef("model check: %s is the name of a model: `capgnn model show %[1]s` prints it", path)
	}
	p, err := runfolder.ReadProgram(file)
	if err != nil {
		return err
	}
	vertices, edges := c.Int64("vertices"), c.Int64("edges")
	sized := c.IsSet("vertices") || c.IsSet("edges")
	if sized && (vertices < 1 || edges < 0 || !c.IsSet("edges")) {
		return term.Usagef("model check: --vertices %d --edges %d: give both, of a graph of at least one vertex", vertices, edges)
	}
	f := factsOf(p, path)
	demand := p.Demand(vertices, edges)
	f.Parameters = demand.Parameters
	if sized {
		f.Values, f.Operations = 4*min(demand.Values, 1<<60), demand.Operations
	}
	if k.JSON {
		err = json.NewEncoder(k.Out).Encode(f)
	} else {
		err = f.print(k.Out, vertices, edges)
	}
	if err != nil {
		return err
	}
	m, err := gnn.NewModel(p)
	if err != nil {
		return term.Usagef("%s: %w", file, err)
	}
	for _, sparse := range []bool{false, true} {
		if err := training.Prove(c.Context, file, m.Config(false, runfolder.Default().Seed), sparse); err != nil {
			return err
		}
	}
	if !k.JSON {
		fmt.Fprintln(k.Out, "trained  yes: loss and gradients on a small graph are those that the file defines")
	}
	return nil
}

func factsOf(p *model.Program, path string) modelFacts {
	f := modelFacts{File: path, SHA256: p.SHA256(), Features: p.Features, Outputs: p.Outputs, Tensors: p.Tensors, Nodes: len(p.Nodes) - p.Tensors}
	reach, fixed, depth := p.Reach(), p.Fixed(), p.Depth()
	depths := map[int]bool{}
	for i, n := range p.Nodes {
		switch {
		case reach[i] < 0:
			f.Unused = append(f.Unused, n.Name)
			continue
		case fixed[i]:
			f.Fixed++
		case n.Op == model.Src:
			depths[depth[i]] = true
		}
		f.AllRows = f.AllRows || reach[i] == model.All
	}
	f.Exchanges = len(depths)
	return f
}

func (f *modelFacts) print(w io.Writer, vertices, edges int64) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(what, format string, a ...any) { fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprintf(format, a...)) }
	line("model", "%s, valid; SHA-256 %s", f.File, f.SHA256)
	line("columns", "%s of features, %s of logits", term.Grouped(f.Features), term.Grouped(f.Outputs))
	line("nodes", "%s, %s of them made once, before training", term.Grouped(f.Nodes), term.Grouped(f.Fixed))
	line("tensors", "%s with %s parameters", term.Grouped(f.Tensors), term.Grouped(f.Parameters))
	rows := "of the vertices that training vertices are reached from"
	if f.AllRows {
		rows = "of all vertices, as sums over all vertices are made"
	}
	line("rows", "%s; those of neighbours are read %s", rows, times(f.Exchanges))
	if len(f.Unused) > 0 {
		line("unused", "%s", strings.Join(f.Unused[:min(len(f.Unused), 10)], " "))
	}
	if vertices > 0 {
		line("memory", "%s of rows at most, of %s vertices; weights, gradients and Adam's moments are %s", term.Size(f.Values), term.Grouped(vertices), term.Size(16*min(f.Parameters, 1<<58)))
		line("work", "%s billion operations in an epoch, on %s edges", number.Plain.Text(f.Operations/1e9), term.Grouped(edges))
	}
	return t.Flush()
}

// times says how often.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
