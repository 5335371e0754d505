package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gpu/host/kernel"
	"capgnn/graph/dataset/shards"
	"capgnn/internal/shell"
)

// traceFlag records what queues do.
const traceFlag = "trace"

func trainCommand() *cli.Command {
	return &cli.Command{
		Name:  "train",
		Usage: "train a model on a data set", UsageText: "capgnn train --dataset cora --model sage --layers 2 --devices cpu:0,cpu:1",
		Description: "Writes a run folder: config.yaml, metrics.jsonl, TensorBoard events, model.safetensors (best validation epoch), last.safetensors, checkpoint/, result.json. Some flags have keys: --cache jaca,gpu=20%; the value before them may be left out, but for --sampling.",
		Flags:       runfolder.Flags(),
		Action:      trainAction,
	}
}

func trainAction(c *cli.Context) error {
	k := term.NewConsole(c)
	s, err := ranks.FromContext(c)
	if err != nil {
		return err
	}
	switch {
	case s.Several() && seedsWanted(c):
		return term.Usagef("--seeds with --ranks: the runs of several seeds train in one process: drop one of them")
	case seedsWanted(c) && c.IsSet(traceFlag):
		return term.Usagef("--seeds with --trace: a trace is of one run: drop one of them")
	case s.Several():
		return trainTogether(c, k, s)
	case seedsWanted(c):
		return trainSeeds(c, k)
	}
	ctx, stop := term.Interruptible(c.Context, k, "after this epoch")
	defer stop()
	t, err := beginTraining(c, k, nil)
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
	t.SayUntraced()
	return result.Print(k)
}

// trainTogether is trainAction of one of several ranks. Rank 0 reads the settings and prints the result.
func trainTogether(c *cli.Context, k *term.Console, s ranks.Settings) error {
	ctx, stop := term.InterruptibleFor(c.Context, k, "after this epoch", ranks.Patience)
	defer stop()
	options, err := training.OptionsTogether(c)
	if err != nil {
		return err
	}
	m, err := ranks.Join(ctx, k, s, cluster.Facts{Options: options, Instructions: kernel.ISA()})
	if err != nil {
		return err
	}
	defer m.Close()
	k.Quiet = k.Quiet || !m.Leads()
	own := training.Own{Dataset: c.String("dataset"), Devices: c.String("devices"), Profile: c.String("profile")}
	t, result, err := training.BeginTogether(ctx, k, m, own, func() (*training.Run, error) { return beginTraining(c, k, m) })
	if t != nil && err == nil {
		result, err = t.Do(ctx)
	}
	if err != nil || !m.Leads() {
		return err
	}
	if t != nil { // nil: the run had ended
		t.SayUntraced()
	}
	return result.Print(k)
}

// beginTraining reads the settings of a run; m are the ranks that train it, nil: this process alone.
func beginTraining(c *cli.Context, k *term.Console, m *ranks.Members) (*training.Run, error) {
	t := training.New(k, c.Command.Name, runfolder.Default())
	t.Ranks = m
	read := newTraining
	if c.IsSet("resume") {
		read = resumedTraining
	}
	if err := read(c, t); err != nil {
		return nil, err
	}
	if c.IsSet(traceFlag) {
		epoch, err := strconv.Atoi(c.String(traceFlag))
		if err != nil {
			return nil, term.Usagef("--%s %q is not the number of an epoch", traceFlag, c.String(traceFlag))
		}
		t.Trace = &epoch
	}
	return t, t.Check()
}

// newTraining reads the settings of a new run: defaults, then --config, then flags. What is not said of a sampled run has defaults of its own.
func newTraining(c *cli.Context, t *training.Run) error {
	t.RunPath, t.Overwrite = c.String("run-dir"), c.Bool("overwrite")
	given, err := readSettings(c, t, t.Console.Note)
	if err != nil {
		return err
	}
	if t.Config.Sampled() {
		t.Config = runfolder.SampledDefault()
		if _, err := readSettings(c, t, func(string, ...any) {}); err != nil {
			return err
		}
		t.Config.SpellSampling()
		if !c.IsSet("config") { // a flag may take back what the file says
			if err := t.Config.RefuseFullBatch(given); err != nil {
				return err
			}
		}
	}
	if err := t.Config.RefuseModelOptions(given); err != nil {
		return err
	}
	if !c.IsSet("config") {
		if err := t.Config.RefuseExchange(given); err != nil {
			return err
		}
	}
	if t.Ranks == nil && slices.Contains(given, runfolder.NetOption) && t.Config.Machines.String() == "" {
		return term.Usagef("--machines net=%s: say how many machines there are, as in --machines 2, or how many devices each has, as in --machines 2,2", t.Config.Net)
	}
	if t.Overwrite && !c.IsSet("run-dir") {
		return term.Usagef("--overwrite: name the folder with --run-dir, or drop it")
	}
	if c.IsSet("run-dir") {
		if !c.IsSet("seeds") { // whose runs lie in folders below
			return runfolder.SeedsDir(t.RunPath).Free(t.Overwrite)
		}
	}
	return nil
}

// readSettings reads --config, then flags, into the settings of a run. It returns the names of the flags.
func readSettings(c *cli.Context, t *training.Run, note func(format string, a ...any)) (given []string, err error) {
	if path := c.String("config"); c.IsSet("config") {
		if err := runfolder.ReadConfig(path, &t.Config); err != nil {
			return nil, err
		}
		t.PlanFile = runfolder.Dir(filepath.Dir(path)).Plan()
	}
	if c.IsSet("epochs") {
		t.Config.BegunEpochs = 0 // this run begins with all of them
	}
	if why := t.Config.Lengthened(); why != "" {
		note("note: --config %s: the run was made longer behind epoch %d, and %s, so this one gets other weights", c.String("config"), t.Config.BegunEpochs, why)
	}
	recorded, parts := t.Config.Devices, t.Config.Parts
	if given, err = runfolder.ApplyFlags(c, &t.Config); err != nil {
		return nil, err
	}
	if t.Ranks != nil { // those of all ranks together may be the recorded ones
		t.Config.Devices = recorded
		given = slices.DeleteFunc(given, func(name string) bool { return name == "devices" || name == "profile" })
	}
	runfolder.Forget(&t.Config, given)
	if specs, err := devices.Parse(recorded); err == nil && parts != t.Config.Parts && parts != len(specs) && t.Config.Parts == 0 {
		note("note: --config %s: its %s are not kept beside other devices, where each device has one: --parts %d keeps them",
			c.String("config"), term.Counted(parts, "part"), parts)
	}
	t.Given = given
	return given, t.Config.MakeAbsolute(given)
}

// resumedTraining reads the settings of the run in the folder given with --resume. Flags may repeat them, not change them, but for more epochs.
func resumedTraining(c *cli.Context, t *training.Run) error {
	d := runfolder.Dir(filepath.Clean(c.String("resume")))
	for _, name := range []string{"config", "run-dir", "overwrite"} {
		if c.IsSet(name) {
			return term.Usagef("--resume %s takes everything from the run: drop --%s", d, name)
		}
	}
	if !d.HoldsRun() {
		return term.Usagef("--resume %s: no run there: %s", d, d.NoRun())
	}
	t.Dir, t.PlanFile, t.Resume = d, d.Plan(), true
	if err := d.ReadConfig(&t.Config); err != nil {
		return err
	}
	if name := c.String("dataset"); c.IsSet("dataset") && (shards.Is(name) || shards.Is(t.Config.DatasetPath)) { // the same data, which are compared
		t.Config.Dataset, t.Config.DatasetPath = name, ""
	}
	if err := refuseChanges(c, d, t.Config, t.Ranks != nil); err != nil {
		return err
	}
	if epochs, err := strconv.Atoi(c.String("epochs")); err == nil && epochs > t.Config.Epochs {
		t.Lengthen(epochs)
	}
	return nil
}

// refuseChanges reports flags beside --resume whose values differ from the run's. Several ranks may have other devices, and data elsewhere.
func refuseChanges(c *cli.Context, d runfolder.Dir, was runfolder.Config, several bool) error {
	now := was
	given, err := runfolder.ApplyFlags(c, &now)
	if err != nil {
		return err
	}
	if err := now.MakeAbsolute(given); err != nil {
		return err
	}
	now.SpellSampling()
	var changed, implied []string // what the user gave, and what follows from it
	for _, o := range runfolder.Options {
		if several && cluster.IsLocal(o.Name) {
			continue
		}
		if o.Name == "epochs" && now.Epochs > was.Epochs { // the run goes on
			continue
		}
		if o.Name == "devices" && o.Value(&now) != o.Value(&was) && sameDevices(now.Devices, was.Devices) {
			continue
		}
		switch {
		case o.Value(&now) == o.Value(&was):
		case o.Name == runfolder.ModelSum: // the file of --model is another
			changed = append(changed, "--model")
		case slices.Contains(given, o.Name):
			changed = append(changed, runfolder.Label(o.Name))
		default:
			implied = append(implied, runfolder.Label(o.Name))
		}
	}
	slices.Sort(changed)
	changed = slices.Compact(changed)
	if slices.Equal(changed, []string{"--epochs"}) {
		return fewerEpochs(d, c.String("epochs"), was.Epochs)
	}
	if flags := cmp.Or(strings.Join(changed, " "), strings.Join(implied, " ")); flags != "" {
		return term.Usagef("--resume %s continues the run as it was: drop %s, or start a new run with --config %s", d, flags, shell.Word(d.Config()))
	}
	return nil
}

// fewerEpochs refuses to resume to fewer epochs.
func fewerEpochs[D ~string](d D, now string, was int) error {
	return term.Usagef("--resume %s --epochs %s: it is of %s: give more, or drop --epochs", d, now, term.Counted(was, "epoch"))
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
