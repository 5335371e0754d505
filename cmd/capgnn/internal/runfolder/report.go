package runfolder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/regular"
	"capgnn/internal/runfile"
	"capgnn/rapa"
	"capgnn/report"
)

// Describe returns what the folder says of its run.
func (d Dir) Describe() (report.Run, error) {
	if !d.HoldsRun() {
		return report.Run{}, term.Usagef("report: %s holds no run: %s", d, d.NoRun())
	}
	cfg := Default()
	if err := d.ReadConfig(&cfg); err != nil {
		return report.Run{}, err
	}
	run := report.Run{Name: string(d), Planned: cfg.Epochs, Settings: settingsOf(&cfg)}
	run.Program = cfg.AnyNetwork().Program
	err := errors.Join(
		readPart(d.result(), func(r io.Reader) (err error) { run.Result, err = d.readResult(r); return err }),
		readPart(d.Metrics(), func(r io.Reader) (err error) { run.Epochs, err = runfile.ReadEpochs(r); return err }),
		readPart(d.Trace(), func(r io.Reader) (err error) { run.Trace, err = report.ReadTrace(r); return err }),
		readPart(d.components(), func(r io.Reader) (err error) { run.Components, err = report.ReadComponents(r); return err }),
	)
	if err == nil && term.Exists(d.Plan()) {
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
func settingsOf(cfg *Config) []report.Setting {
	defaults := Default()
	if cfg.Sampled() {
		defaults = SampledDefault()
	}
	var settings []report.Setting
	for _, o := range Options {
		if o.Says(cfg) {
			settings = append(settings, report.Setting{Name: strings.TrimPrefix(Label(o.Name), "--"), Value: fmt.Sprint(o.Value(cfg)), Default: fmt.Sprint(o.Value(&defaults)), Recorded: o.FileOnly})
		}
	}
	return settings
}

// partition returns what the run's plan says of its parts.
func (d Dir) partition(cfg *Config) (*report.Partition, error) {
	plan, err := rapa.ReadPlan(d.Plan())
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
func (c *Config) costUnit() string {
	switch {
	case c.Plan != "":
		return ""
	case c.ByLambda():
		return "λ"
	}
	return "s"
}

// steps returns what can be done with the run.
func (d Dir) steps(cfg *Config, finished bool) []report.Step {
	folder := ShellWord(string(d))
	again := report.Step{
		What:    "The same run again, with its own partition and all that it measured: on the same devices its weights have the same bits.",
		Command: "capgnn train --config " + ShellWord(d.Config()) + " --run-dir " + ShellWord(string(d)+"-again"),
	}
	spelled := report.Step{What: "Its settings spelled out; parts are then made anew.", Command: commandLine(cfg)}
	if !finished {
		return []report.Step{{What: "Continue it.", Command: "capgnn train --resume " + folder}, again, spelled}
	}
	return []report.Step{again, spelled,
		{What: "What it predicts for every vertex.", Command: "capgnn predict --run " + folder + " --what labels --out labels.csv"},
		{What: "Where vertices lie along the principal components of its embeddings, for the next report.", Command: "capgnn predict --run " + folder + " --what pca"}}
}

// commandLine returns the command that trains with these settings: every flag that is not at its default.
func commandLine(cfg *Config) string {
	defaults := Default()
	words := []string{"capgnn train"}
	for _, name := range FlagNames(Option.Setting) {
		o, _ := optionOf(name)
		switch text := o.items(cfg, func(o Option) bool { return o.Value(cfg) != o.Value(&defaults) }); {
		case text == "" && o.Value(cfg) == o.Value(&defaults):
		case o.Value(cfg) == true:
			words = append(words, "--"+name)
		default:
			words = append(words, "--"+name, ShellWord(text))
		}
	}
	return strings.Join(words, " ")
}

// ShellWord quotes a word for a POSIX shell where it has to be.
func ShellWord(s string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,+@%", r))
	}
	if s != "" && strings.IndexFunc(s, special) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
