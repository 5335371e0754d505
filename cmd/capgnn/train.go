package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
)

func trainCommand() *cli.Command {
	flags := append(runfolder.Flags(),
		&cli.StringFlag{Name: "run-dir", Category: runfolder.GroupRun, Usage: "write the run into `DIR` itself (default: runs/DATASET-MODEL-TIME)"},
		&cli.StringFlag{Name: "resume", Category: runfolder.GroupRun, Usage: "continue the run in folder `RUN`, or print its result if it is finished"},
		&cli.StringFlag{Name: "config", Category: runfolder.GroupRun, Usage: "take all settings from `FILE`, a run's config.yaml; flags beside it override it"},
	)
	return &cli.Command{
		Name:  "train",
		Usage: "train a model on a data set", UsageText: "capgnn train --dataset cora --model sage --layers 2 --devices cpu:0,cpu:1",
		Description: "Writes a run folder: config.yaml, metrics.jsonl, TensorBoard events, model.safetensors (best validation epoch), last.safetensors, checkpoint/, result.json.",
		Flags:       flags,
		Action:      trainAction,
	}
}

func trainAction(c *cli.Context) error {
	k := term.NewConsole(c)
	ctx, stop := term.Interruptible(c.Context, k, "after this epoch")
	defer stop()
	begin := newTraining
	if c.IsSet("resume") {
		begin = resumedTraining
	}
	t, err := begin(c, k)
	if err != nil {
		return err
	}
	result, err := t.Finished()
	if result == nil && err == nil {
		result, err = t.Do(ctx)
	}
	if err != nil {
		return err
	}
	return result.Print(k)
}

// newTraining reads the settings of a new run: defaults, then --config, then flags.
func newTraining(c *cli.Context, k *term.Console) (*training.Run, error) {
	t := &training.Run{Console: k, Command: c.Command.Name, Config: runfolder.Default(), RunPath: c.String("run-dir")}
	if path := c.String("config"); c.IsSet("config") {
		if err := runfolder.ReadConfig(path, &t.Config); err != nil {
			return nil, err
		}
		t.PlanFile = runfolder.Dir(filepath.Dir(path)).Plan()
	}
	given, err := runfolder.ApplyFlags(c, &t.Config)
	if err != nil {
		return nil, err
	}
	runfolder.Forget(&t.Config, given)
	if err := t.Config.MakeAbsolute(given); err != nil {
		return nil, err
	}
	if c.IsSet("run-dir") {
		if t.RunPath == "" {
			return nil, term.Usagef("--run-dir is empty: name a folder")
		}
		if err := runfolder.Dir(t.RunPath).Free(); err != nil {
			return nil, err
		}
	}
	return t, t.Check()
}

// resumedTraining reads the settings of the run in the folder given with --resume. Flags may repeat them, not change them.
func resumedTraining(c *cli.Context, k *term.Console) (*training.Run, error) {
	d := runfolder.Dir(filepath.Clean(c.String("resume")))
	for _, name := range []string{"config", "run-dir"} {
		if c.IsSet(name) {
			return nil, term.Usagef("--resume %s takes everything from the run: leave --%s away", d, name)
		}
	}
	if !d.HoldsRun() {
		if _, err := os.Stat(string(d)); err != nil {
			return nil, term.Usagef("--resume: %w", err)
		}
		return nil, term.Usagef("--resume %s: no run there: the folder has no config.yaml", d)
	}
	t := &training.Run{Console: k, Command: c.Command.Name, Config: runfolder.Default(), Dir: d, PlanFile: d.Plan(), Resume: true}
	if err := runfolder.ReadConfig(d.Config(), &t.Config); err != nil {
		return nil, err
	}
	if err := refuseChanges(c, d, t.Config); err != nil {
		return nil, err
	}
	return t, t.Check()
}

// refuseChanges reports flags beside --resume whose values differ from the run's.
func refuseChanges(c *cli.Context, d runfolder.Dir, was runfolder.Config) error {
	now := was
	given, err := runfolder.ApplyFlags(c, &now)
	if err != nil {
		return err
	}
	if err := now.MakeAbsolute(given); err != nil {
		return err
	}
	var changed []string
	for _, o := range runfolder.Options {
		if o.Name == "devices" && o.Value(&now) != o.Value(&was) && sameDevices(now.Devices, was.Devices) {
			continue
		}
		if o.Value(&now) != o.Value(&was) {
			changed = append(changed, "--"+o.Name)
		}
	}
	if len(changed) > 0 {
		return term.Usagef("--resume %s continues the run as it was: leave %s away, or start a new run with --config %s",
			d, strings.Join(changed, " "), d.Config())
	}
	return nil
}

// sameDevices reports whether a list given by the user means the devices that a run has recorded.
func sameDevices(given, recorded string) bool {
	specs, err := devices.Parse(given)
	if err != nil {
		return false
	}
	was, err := devices.Parse(recorded)
	if err != nil || len(was) != len(specs) {
		return false
	}
	for i := range specs {
		if specs[i].Threads == 0 {
			specs[i].Threads = was[i].Threads
		}
	}
	return devices.Format(specs) == devices.Format(was)
}
