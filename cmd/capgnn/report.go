package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
	"capgnn/rapa"
	"capgnn/report"
)

// writeReport draws the run into its folder. A picture that could not be written is no reason to fail a run that was.
func (t *training) writeReport() {
	run, err := t.dir.describe()
	if err == nil {
		err = atomicfile.Write(t.dir.report(), func(w io.Writer) error { return report.WriteRun(w, run) })
	}
	if err != nil {
		t.k.Note("note: no report: %s", term.OneLine(err))
	}
}

// describe returns what the folder says of its run.
func (d runDir) describe() (report.Run, error) {
	if !d.holdsRun() {
		return report.Run{}, term.Usagef("report: %s holds no run: it has no config.yaml", d)
	}
	cfg := defaultConfig()
	if err := readConfig(d.config(), &cfg); err != nil {
		return report.Run{}, err
	}
	run := report.Run{Name: string(d), Planned: cfg.Epochs, Settings: settingsOf(&cfg)}
	err := errors.Join(
		readPart(d.result(), func(r io.Reader) (err error) { run.Result, err = report.ReadResult(r); return err }),
		readPart(d.metrics(), func(r io.Reader) (err error) { run.Epochs, err = report.ReadEpochs(r); return err }),
	)
	if err == nil && term.Exists(d.plan()) {
		run.Partition, err = d.partition(&cfg)
	}
	if err != nil {
		return report.Run{}, term.Usagef("report: %w", err)
	}
	run.Repeat = d.steps(&cfg, run.Result != nil)
	return run, nil
}

// readPart reads a file of a run; one that is not there is left out.
func readPart(path string, read func(io.Reader) error) error {
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := read(f); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// settingsOf returns every option with its default.
func settingsOf(cfg *trainConfig) []report.Setting {
	defaults := defaultConfig()
	settings := make([]report.Setting, len(options))
	for i, o := range options {
		settings[i] = report.Setting{Name: o.name, Value: fmt.Sprint(o.value(cfg)), Default: fmt.Sprint(o.value(&defaults)), Recorded: o.fileOnly}
	}
	return settings
}

// partition returns what the run's plan says of its parts.
func (d runDir) partition(cfg *trainConfig) (*report.Partition, error) {
	plan, err := rapa.ReadPlan(d.plan())
	if err != nil {
		return nil, err
	}
	specs, err := devices.Parse(cfg.Devices)
	if err != nil {
		return nil, err
	}
	out := &report.Partition{EdgeCut: plan.EdgeCut, Moved: plan.Moved, Pruned: plan.Lost.Edges, Stop: string(plan.Stop), Cost: cfg.costUnit()}
	for i, s := range plan.Parts {
		p := report.Part{Inner: s.Inner, Halo: s.Halo, Edges: s.Edges, Cut: s.Cut, Train: s.Train}
		if i < len(plan.Lost.PerPart) && i < len(plan.Lost.Replicas) {
			p.Edges, p.Cut, p.Halo = p.Edges-plan.Lost.PerPart[i], p.Cut-plan.Lost.PerPart[i], p.Halo-plan.Lost.Replicas[i]
		}
		if len(specs) > 0 {
			p.Device = specs[i%len(specs)].String()
		}
		out.Parts = append(out.Parts, p)
	}
	for _, step := range plan.Trace {
		var costs []float64
		for _, p := range step.Parts {
			costs = append(costs, p.Cost)
		}
		out.Trace = append(out.Trace, costs)
	}
	return out, nil
}

// costUnit is what the costs of the run's parts are in, "" where another command has made them.
func (c *trainConfig) costUnit() string {
	switch {
	case c.Plan != "":
		return ""
	case c.byLambda():
		return "λ"
	}
	return "s"
}

// steps returns what can be done with the run.
func (d runDir) steps(cfg *trainConfig, finished bool) []report.Step {
	folder := shellWord(string(d))
	again := report.Step{
		What:    "The same run again, with its own partition and all that it measured: on the same devices its weights have the same bits.",
		Command: "capgnn train --config " + shellWord(d.config()) + " --run-dir " + shellWord(string(d)+"-again"),
	}
	spelled := report.Step{What: "Its settings spelled out; parts are then made anew.", Command: commandLine(cfg)}
	if !finished {
		return []report.Step{{What: "Continue it.", Command: "capgnn train --resume " + folder}, again, spelled}
	}
	return []report.Step{again, spelled,
		{What: "What it predicts for every vertex.", Command: "capgnn predict --run " + folder + " --what labels --out labels.csv"}}
}

// commandLine returns the command that trains with these settings: every flag that is not as by default.
func commandLine(cfg *trainConfig) string {
	defaults := defaultConfig()
	words := []string{"capgnn train"}
	for _, o := range options {
		v := o.value(cfg)
		switch {
		case o.fileOnly || v == o.value(&defaults):
		case v == true:
			words = append(words, "--"+o.name)
		default:
			words = append(words, "--"+o.name, shellWord(fmt.Sprint(v)))
		}
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word for a POSIX shell where it has to be.
func shellWord(s string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,+@%", r))
	}
	if s != "" && strings.IndexFunc(s, special) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
