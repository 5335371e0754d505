package training

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/internal/atomicfile"
	"capgnn/internal/learn"
	"capgnn/internal/runfile"
	"capgnn/jaca"
	"capgnn/pipeline"
	"capgnn/rapa"
	"capgnn/report"
)

// periods returns the refresh period of every layer with slots; nil: none has slots.
func periods(caches *jaca.Plan) map[string]int {
	if caches == nil {
		return nil
	}
	out := map[string]int{}
	for _, table := range caches.Tables {
		if table.Slots() > 0 {
			out[strconv.Itoa(table.Layer)] = table.Period
		}
	}
	return out
}

// metadata is what a weights file says about itself.
func (t *Run) metadata(epoch int) map[string]string {
	m := map[string]string{"format": "pt", "model": t.Config.ModelName(), "dataset": t.Data.Name, "epoch": fmt.Sprint(epoch)}
	net := t.Config.Network(0, 0, false)
	if net.Residual { // the tensors do not show it
		m["residual"] = "true"
	}
	if net.Jumping {
		m["jk"] = t.Config.JK
	}
	if net.Activation != "" && net.Activation != gnn.ReLU { // nor this
		m["activation"] = string(net.Activation)
	}
	return m
}

// writeSettings writes config.yaml, which makes the folder a run, after the plan and the initial weights, which a resumed
// run must find as they were. What it has written goes again where there is no room for all.
func (t *Run) writeSettings() error {
	if t.Resume || !t.Ranks.Leads() {
		t.settings = t.Dir.Settings()
		return t.writeLonger()
	}
	if err := t.stays(); err != nil {
		return err
	}
	if t.sets.TooLong() {
		t.Console.Note("note: split.npz has no ids, only rows in the order of the vertices: as text they take more than 64 MiB, as the longest sets the width of all")
	}
	others := t.Dir.Settings()
	err := t.writeFiles()
	t.settings = t.Dir.Settings()
	if err != nil && !t.Dir.HoldsRun() {
		for _, path := range t.settings {
			if !slices.Contains(others, path) {
				_ = os.Remove(path)
			}
		}
	}
	return err
}

// writeFiles writes the files of the settings.
func (t *Run) writeFiles() error {
	if t.Plan != nil {
		if err := rapa.WritePlan(t.Dir.Plan(), t.Plan); err != nil {
			return err
		}
	}
	if t.initial != nil {
		if err := gnn.WriteSafetensors(t.Dir.Initial(), t.initial, t.metadata(-1)); err != nil {
			return err
		}
	}
	if err := t.Dir.WriteModel(&t.Config); err != nil {
		return err
	}
	if err := errors.Join(t.Dir.WriteScaling(t.Data.Scaling), t.Dir.WriteNames(&t.Data.Names)); err != nil {
		return err
	}
	if err := t.Dir.WriteSets(t.sets); err != nil {
		return err
	}
	return t.writeConfig()
}

// writeConfig writes what repeats the run.
func (t *Run) writeConfig() error {
	data, err := runfolder.FormatConfig(&t.Config)
	if err != nil {
		return err
	}
	return term.WriteFile(t.Dir.Config(), data)
}

// finish writes what a finished run leaves behind.
func (t *Run) finish(r *pipeline.Result) (*runfolder.Result, error) {
	best, epoch := r.BestWeights, r.BestEpoch
	if best == nil {
		best, epoch = r.Weights, r.Epochs-1
	}
	err := gnn.WriteSafetensors(t.Dir.Best(), best, t.metadata(epoch))
	if err == nil {
		err = gnn.WriteSafetensors(t.Dir.Last(), r.Weights, t.metadata(r.Epochs-1))
	}
	if err != nil {
		return nil, err
	}
	if r.Stopped == stoppedByPatience {
		what := "score"
		if t.Config.BestByLoss() {
			what = "loss"
		}
		t.Console.Note("stopped after %d epochs: %d evaluations without a better validation %s", r.Epochs, t.Config.Patience, what)
	}
	result := runfolder.NewResult(&t.Config, t.Data.Name, t.Specs, t.Parts, t.Dir, r)
	result.Staleness.Forecast = (*runfile.StaleForecast)(t.Aging)
	result.Several = t.Data.Problem.Targets != nil && t.metric() != learn.MicroF1
	result.Positive = t.positive()
	result.TimeS.Start, result.Classes, result.Data = t.start.Seconds(), t.Data.Names.Classes, t.shape()
	result.Staleness.Period = periods(r.Caches)
	meters, err := runfolder.ReadMeters(t.Dir.Metrics())
	if err != nil {
		return nil, err
	}
	for _, m := range meters {
		result.Meters = append(result.Meters, runfile.Metered(m))
	}
	if t.Ranks != nil {
		if result.Pairs, err = runfolder.ReadTraffic(t.Dir.Metrics()); err != nil {
			return nil, err
		}
		for _, m := range t.Ranks.Members() {
			result.Hosts = append(result.Hosts, m.Host)
		}
	}
	if t.Config.Merged.Value != nil { // known by now
		if err := t.writeConfig(); err != nil {
			return nil, err
		}
	}
	if t.sampled != nil {
		result.AddSampling(&t.Config, t.settledSampling(), t.sampled)
	}
	result.Order, result.Storage, result.TimeS.Order = t.Config.Order, t.Config.Storage, t.arranged.Seconds
	if err := t.Dir.WriteResult(result); err != nil {
		return nil, err
	}
	return result, t.writeReport()
}

// shape returns what the data set looks like, nil where it is not known here.
func (t *Run) shape() *runfile.Data {
	p := t.Data.Problem
	if t.Data.Degrees == nil {
		return nil
	}
	s := &runfile.Data{Degrees: t.Data.Degrees}
	if p.Classes <= learn.MaxClasses {
		s.Classes = p.ClassSizes()
	}
	return s
}

// writeReport draws the run into its folder. A picture that could not be written is no reason to fail a run that was, unless its folder is gone.
func (t *Run) writeReport() error {
	run, err := t.Dir.Describe()
	if err == nil {
		err = atomicfile.Write(t.Dir.Report(), func(w io.Writer) error { return report.WriteRun(w, run) })
	}
	gone := t.stays()
	if err != nil && gone == nil {
		t.Console.Note("note: no report: %s", term.OneLine(err))
	}
	return gone
}
