package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
)

func trainCommand() *cli.Command {
	flags := append(optionFlags(),
		&cli.StringFlag{Name: "run-dir", Category: groupRun, Usage: "write the run into `DIR` itself (default: runs/DATASET-MODEL-TIME)"},
		&cli.StringFlag{Name: "resume", Category: groupRun, Usage: "continue the run in folder `RUN`, or print its result if it is finished"},
		&cli.StringFlag{Name: "config", Category: groupRun, Usage: "take all settings from `FILE`, a run's config.yaml; flags beside it override it"},
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
	result, err := t.finished()
	if result == nil && err == nil {
		result, err = t.run(ctx)
	}
	if err != nil {
		return err
	}
	return result.print(k)
}

// finished returns the result of a run that is to be resumed and has ended; nil if there is something to do.
func (t *training) finished() (*runResult, error) {
	if !t.resume {
		return nil, nil
	}
	result, err := t.dir.readResult()
	if result != nil {
		t.k.Note("%s is finished; this is its result", t.dir)
	}
	return result, err
}

// newTraining reads the settings of a new run: defaults, then --config, then flags.
func newTraining(c *cli.Context, k *term.Console) (*training, error) {
	t := &training{k: k, command: c.Command.Name, cfg: defaultConfig(), runPath: c.String("run-dir")}
	if path := c.String("config"); c.IsSet("config") {
		if err := readConfig(path, &t.cfg); err != nil {
			return nil, err
		}
		t.planFile = runDir(filepath.Dir(path)).plan()
	}
	given, err := applyFlags(c, &t.cfg)
	if err != nil {
		return nil, err
	}
	forget(&t.cfg, given)
	if err := t.cfg.makeAbsolute(given); err != nil {
		return nil, err
	}
	if c.IsSet("run-dir") {
		if t.runPath == "" {
			return nil, term.Usagef("--run-dir is empty: name a folder")
		}
		if err := runDir(t.runPath).free(); err != nil {
			return nil, err
		}
	}
	return t, t.check()
}

// check reports what is wrong with the settings as far as it can be told without data: also a device that is not there.
func (t *training) check() error {
	if err := t.cfg.validate(); err != nil {
		return t.usage(err)
	}
	for _, o := range options {
		if text := fmt.Sprint(o.value(&t.cfg)); !utf8.ValidString(text) {
			return term.Usagef("--%s %q: is not UTF-8, which the files of a run need: rename it", o.name, text)
		}
	}
	return devices.Check(t.cfg.Devices)
}

// forget drops what a config file recorded about choices that flags beside it have changed.
func forget(cfg *trainConfig, given []string) {
	changed := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(given, name) })
	}
	if changed("dataset") {
		cfg.DatasetPath = ""
	}
	if changed("devices", "parts", "profile") {
		cfg.Targets, cfg.CacheLinks = "", ""
	}
	if changed(partitionOptions...) || changed(savingOptions()...) || changed("plan") {
		cfg.CacheSlots = ""
	}
	if changed(partitionOptions...) || changed("plan") {
		cfg.PlanKey = ""
	}
	if changed("devices") && !changed("parts") {
		cfg.Parts = 0
	}
	if changed("dataset", "edges", "features", "split", "seed", "self-loops", "model") {
		cfg.DataSHA256 = ""
	}
}

// savingOptions are the options that change what is exchanged, and what memory is left.
func savingOptions() []string {
	var out []string
	for _, o := range options {
		if strings.HasPrefix(o.name, "no-") {
			out = append(out, o.name)
		}
	}
	return out
}

// makeAbsolute turns the given file flags into absolute paths, so that config.yaml means the same anywhere.
func (c *trainConfig) makeAbsolute(given []string) error {
	for name, path := range map[string]*string{"init": &c.Init, "profile": &c.Profile, "plan": &c.Plan} {
		if *path == "" || !slices.Contains(given, name) {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return term.Usagef("--%s %s: %w", name, *path, err)
		}
		*path = abs
	}
	return nil
}

// resumedTraining reads the settings of the run in the folder given with --resume. Flags may repeat them, not change them.
func resumedTraining(c *cli.Context, k *term.Console) (*training, error) {
	d := runDir(filepath.Clean(c.String("resume")))
	for _, name := range []string{"config", "run-dir"} {
		if c.IsSet(name) {
			return nil, term.Usagef("--resume %s takes everything from the run: leave --%s away", d, name)
		}
	}
	if !d.holdsRun() {
		if _, err := os.Stat(string(d)); err != nil {
			return nil, term.Usagef("--resume: %w", err)
		}
		return nil, term.Usagef("--resume %s: no run there: the folder has no config.yaml", d)
	}
	t := &training{k: k, command: c.Command.Name, cfg: defaultConfig(), dir: d, planFile: d.plan(), resume: true}
	if err := readConfig(d.config(), &t.cfg); err != nil {
		return nil, err
	}
	if err := refuseChanges(c, d, t.cfg); err != nil {
		return nil, err
	}
	return t, t.check()
}

// refuseChanges reports flags beside --resume whose values differ from the run's.
func refuseChanges(c *cli.Context, d runDir, was trainConfig) error {
	now := was
	given, err := applyFlags(c, &now)
	if err != nil {
		return err
	}
	if err := now.makeAbsolute(given); err != nil {
		return err
	}
	var changed []string
	for _, o := range options {
		if o.name == "devices" && o.value(&now) != o.value(&was) && sameDevices(now.Devices, was.Devices) {
			continue
		}
		if o.value(&now) != o.value(&was) {
			changed = append(changed, "--"+o.name)
		}
	}
	if len(changed) > 0 {
		return term.Usagef("--resume %s continues the run as it was: leave %s away, or start a new run with --config %s",
			d, strings.Join(changed, " "), d.config())
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
