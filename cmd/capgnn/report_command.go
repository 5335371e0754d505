package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/atomicfile"
	"capgnn/report"
)

// comparisonFile is what a comparison is called without --out.
const comparisonFile = "comparison.html"

// reportResult is the object that `report --json` prints.
type reportResult struct {
	Report string   `json:"report"` // the page that was written
	Runs   []string `json:"runs"`
}

func reportCommand() *cli.Command {
	return &cli.Command{
		Name: "report", UsageText: "capgnn report runs/first runs/second --out both.html", Usage: "draw a run as a web page, or compare several runs", ArgsUsage: "RUN...",
		Description: "For one run, or one folder of `train --seeds`, the page is report.html in its folder; `train` writes it, too. For several runs it is comparison.html, with their curves in the same charts; a folder of `train --seeds` counts as its runs. Pages need no network. Unfinished runs are drawn up to their last epoch.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "write the page to `FILE`"},
		},
		Action: reportAction,
	}
}

func reportAction(c *cli.Context) error {
	folders, err := positionals(c, "report")
	if err != nil {
		return err
	}
	if c.Bool("help") {
		return cli.ShowSubcommandHelp(c)
	}
	if len(folders) == 0 {
		return term.Usagef("report: name a run folder, or several: see `capgnn report --help`")
	}
	k := term.NewConsole(c)
	if err := term.CheckOut("out", c.String("out")); err != nil {
		return err
	}
	k.KeepStdoutFor(c.String("out"))
	p, err := pageOf(folders)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, run := range p.runs {
		if seen[run.Name] {
			k.Note("note: report: %s is named twice, and drawn twice", run.Name)
		}
		seen[run.Name] = true
	}
	if c.IsSet("out") {
		p.out = c.String("out")
	}
	if err := atomicfile.Write(p.out, p.draw); err != nil {
		return term.Usagef("report: %w: choose a place with --out", err)
	}
	return printReport(k, p.out, p.runs)
}

// reportPage is a page that can be written.
type reportPage struct {
	runs []report.Run
	draw func(w io.Writer) error
	out  string // file, where none is named
}

// pageOf returns the page of one run, of several, or of a folder with runs of several seeds.
func pageOf(folders []string) (p reportPage, err error) {
	if d := runfolder.SeedsDir(filepath.Clean(folders[0])); len(folders) == 1 && d.HoldsSeeds() {
		runs, together, err := d.Describe()
		return reportPage{runs, func(w io.Writer) error { return report.WriteSeeds(w, runs, together) }, d.Report()}, err
	}
	for _, folder := range folders {
		var runs []report.Run
		if d := runfolder.SeedsDir(filepath.Clean(folder)); d.HoldsSeeds() {
			runs, _, err = d.Describe()
		} else {
			runs = make([]report.Run, 1)
			runs[0], err = runfolder.Dir(filepath.Clean(folder)).Describe()
		}
		if err != nil {
			return p, err
		}
		p.runs = append(p.runs, runs...)
	}
	if len(p.runs) == 1 {
		p.draw, p.out = func(w io.Writer) error { return report.WriteRun(w, p.runs[0]) }, runfolder.Dir(p.runs[0].Name).Report()
	} else {
		p.draw, p.out = func(w io.Writer) error { return report.WriteComparison(w, p.runs) }, comparisonFile
	}
	return p, nil
}

// printReport says what was written; of several runs also their table.
func printReport(k *term.Console, out string, runs []report.Run) error {
	if k.JSON {
		r := reportResult{Report: out}
		for _, run := range runs {
			r.Runs = append(r.Runs, run.Name)
		}
		return json.NewEncoder(k.Out).Encode(r)
	}
	if len(runs) > 1 {
		printRuns(k.Out, runs)
	}
	_, err := fmt.Fprintf(k.Out, "written  %s\n", out)
	return err
}
