package training

import (
	"context"
	"fmt"
	"slices"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/learn"
)

// Load reads the data set and checks it against what the run was made with.
func (t *Run) Load(ctx context.Context) error {
	if t.Data == nil {
		data, err := datasets.Load(ctx, t.Console, &t.Config)
		if err != nil {
			return term.AsUsage(err)
		}
		t.Data = data
	}
	p := t.Data.Problem
	if err := p.Validate(); err != nil {
		return term.Usagef("--dataset %s: %w", t.Config.Dataset, err)
	}
	if err := t.network().Validate(); err != nil && t.Config.ModelFile() {
		return term.Usagef("%s: %w: write one for these data: `capgnn model show NAME --in-channels %d --out-channels %d`, "+
			"or capgnn.trace", t.Config.Model, err, p.Features.Cols, p.Classes)
	} else if err != nil {
		return t.AsUsage(err)
	}
	if _, err := learn.Metric(t.Config.Metric).Of(p); err != nil && !t.Anonymous {
		return t.AsUsage(fmt.Errorf("--metric %w", err))
	}
	if err := t.settlePositive(); err != nil && !t.Anonymous {
		return t.AsUsage(err)
	}
	if t.Config.WatchesValidation() && p.Shards == nil && !slices.Contains(p.Val, true) && !t.Anonymous {
		return t.AsUsage(fmt.Errorf("--schedule plateau watches validation vertices, and %s has none: choose another schedule, or --split", t.Data.Name))
	}
	if gaps := t.metric().Gaps(p); gaps != "" && !t.Anonymous {
		t.Console.Note("note: --metric %s: classes without a score: %s", t.Config.Metric, gaps)
	}
	identity := t.Data.Identity()
	switch was := t.Config.DataSHA256; {
	case was == "" || was == identity:
	case t.Resume:
		return term.Usagef("--resume %s: data set %s is not what the run was trained on: restore it, or start a new run", t.Dir, t.Data.Name)
	default:
		t.Console.Note("note: data set %s differs from the one the config file was written for", t.Data.Name)
	}
	if err := t.sameNames(); err != nil {
		return err
	}
	t.Config.DataSHA256 = identity
	if err := t.settleShards(); err != nil {
		return err
	}
	if err := t.settleCriterion(); err != nil {
		return err
	}
	t.settleSampled()
	t.Console.Note("%s: %s, %s", t.Data.Name, t.Data.Size(), term.Counted(p.Classes, "class"))
	return nil
}

// sameNames refuses a resumed run on a data set whose columns or classes have got other names: its numbers are those of the run, what they mean is not.
func (t *Run) sameNames() error {
	if !t.Resume || !t.Ranks.Leads() {
		return nil
	}
	was, err := t.Dir.ReadNames()
	if err != nil {
		return err
	}
	for _, names := range []struct {
		of       string
		was, are []string
	}{{"column", was.Columns, t.Data.Names.Columns}, {"class", was.Classes, t.Data.Names.Classes}} {
		if names.was == nil || names.are == nil || len(names.was) != len(names.are) {
			continue
		}
		for i, name := range names.was {
			if names.are[i] != name {
				return term.Usagef("--resume %s: %s %.60q of data set %s was %.60q when the run was begun: restore it, or start a new run", t.Dir, names.of, names.are[i], t.Data.Name, name)
			}
		}
	}
	return nil
}

// AsUsage marks an error as caused by the user's input to the command.
func (t *Run) AsUsage(err error) error {
	if t.Command == "" {
		return term.AsUsage(err)
	}
	return term.Usagef("%s: %w", t.Command, err)
}

// ChooseDevices settles the devices and the number of parts.
func (t *Run) ChooseDevices(context.Context) error {
	list := t.Config.Devices
	if t.Anonymous && devices.IsAuto(list) {
		list = "cpu:0" // it stands for whatever there will be: no GPU is looked for
	}
	specs, err := devices.Parse(list)
	if err != nil {
		return err
	}
	devices.ShareCores(specs, devices.Cores())
	for i := range specs {
		specs[i].TF32 = specs[i].GPU && t.Config.TF32
	}
	if devices.IsAuto(t.Config.Devices) && !t.Anonymous {
		_, why := devices.Auto()
		t.Console.Note("devices: %s (%s)", devices.Format(specs), why)
	}
	if t.Parts, err = t.Config.PartCount(len(specs), t.Data.Problem.Vertices()); err != nil {
		return err
	}
	if n := t.Workers(); n < len(specs) {
		t.Console.Note("note: %s on the first %d of %d devices", term.Counted(n, "part"), n, len(specs))
		specs = specs[:n]
	}
	t.Specs, t.Config.Devices, t.Config.Parts = specs, devices.Format(specs), t.Parts
	t.noteProducts()
	t.estimateStages()
	return nil
}

// noteProducts says who multiplies dense matrices on the GPUs of this process, and where --tf32 changes nothing.
func (t *Run) noteProducts() {
	if t.Anonymous {
		return
	}
	isGPU := func(s devices.Spec) bool { return s.GPU }
	if t.Config.TF32 && !slices.ContainsFunc(t.Specs, isGPU) {
		t.Console.Note("note: --tf32 has no effect: no device is a GPU")
	}
	if !slices.ContainsFunc(t.ownSpecs(), isGPU) {
		return
	}
	p := devices.ProductsOn(t.ownSpecs())
	text := p.Who
	switch {
	case t.Config.TF32 && !p.Rounds:
		t.Console.Note("note: --tf32 has no effect: dense products use %s, which round nothing", p.Who)
		return
	case t.Config.TF32:
		text += ", operands rounded to TF32 where the GPU can"
	}
	switch {
	case t.Config.ElementType() != gpu.BF16 || !p.Rounds:
	case p.Half:
		text += ", in bf16 where rows are stored so"
	default:
		text += "; rows stored in bf16 by capgnn's own kernels on GPUs before sm_80"
	}
	t.Console.Note("dense products on GPUs: %s", text)
}

// Workers returns how many parts train at a time.
func (t *Run) Workers() int { return t.Config.WorkersOf(t.Parts) }

// deviceOf returns on which of Specs a part lies: they take turns, those of several ranks each among its own parts. Of parts that train in phases it is that of a worker.
func (t *Run) deviceOf(part int) int {
	if t.place != nil {
		return t.place.devices[part]
	}
	return part % len(t.Specs)
}

// metric returns by what the run chooses its best weights: what it says, or what its problem has.
func (t *Run) metric() learn.Metric {
	m, err := learn.Metric(t.Config.Metric).Of(t.Data.Problem)
	if err != nil { // of a run that only makes parts
		m, _ = learn.Auto.Of(t.Data.Problem)
	}
	return m
}
