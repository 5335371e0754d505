package training

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/number"
	"capgnn/pipeline"
	"capgnn/pipeline/halo"
)

// ProblemOptions returns what decides how the trainer lays out the problem; devices are missing.
func (t *Run) ProblemOptions() pipeline.Options {
	p := t.Data.Problem
	model := t.Config.Network(p.Features.Cols, p.Classes, p.Targets != nil)
	opt := pipeline.Options{
		Model: model, Optimizer: t.Config.UpdateRule(model), Schedule: t.Config.Schedule.Value, Task: t.labels,
		Epochs: t.Config.Epochs, EvalEvery: t.Config.EvalEvery, Patience: t.Config.Patience, BestByLoss: t.Config.BestByLoss(),
		Part: make([]int32, p.Vertices()), Rank: t.rank, Storage: t.Config.ElementType(), Cache: t.Config.HaloCache(),
	}
	if i := t.Config.Isolated.Value; i != nil {
		what := i.Isolated
		if i.Phases > 0 {
			what.Chunks = t.Parts
		}
		opt.Isolated, opt.Cache = &what, halo.Options{NoPeer: opt.Cache.NoPeer}
		if t.Plan != nil {
			opt.Part = t.Plan.Part
		}
		return opt
	}
	// Those of other parts or devices were refused by SettleCache, or are not used any more.
	if slots := t.Config.CacheSlots.Value; len(slots) == t.Parts+1 {
		opt.Cache.Slots = slots
	}
	if links := t.Config.CacheLinks.Value; len(links) == len(t.Specs) || t.place != nil {
		opt.Cache.Links = t.partLinks(links)
	}
	if t.Plan != nil {
		opt.Part, opt.Dropped = t.Plan.Part, t.Plan.Dropped
	}
	return opt
}

// options returns what the trainer needs; record keeps the numbers of every epoch.
func (t *Run) options(record func(pipeline.EpochStats) error) (pipeline.Options, error) {
	opt := t.ProblemOptions()
	c, err := diskcache.Open(t.Console)
	if err != nil {
		return opt, err
	}
	if c != nil {
		opt.Prepared = c
	}
	opt.Layout, opt.Cache.Host = t.layout, devices.LockFor(t.ownSpecs())
	opt.CheckpointDir, opt.CheckpointEvery, opt.Resume = t.Dir.Checkpoints(), t.Config.CheckpointEvery.Epochs, t.Resume
	opt.Identity, opt.Log = t.identity(), slog.New(&term.NoteHandler{Console: t.Console})
	var val *float64 // of the last evaluation
	board := newBoard(t)
	opt.OnTrain, opt.Meter = t.tracing(), t.readMeters
	opt.OnEpoch = func(s pipeline.EpochStats) error {
		if s.Eval {
			val = s.Metrics.Val
		}
		board.add(s.Train, s.Parts, s.HaloParts)
		t.bar.Table = board.lines(time.Now())
		t.bar.At(int64(s.Epoch+1), epochDetail(s, val))
		return record(s)
	}
	opt.OnBest = t.keepBest
	t.here(&opt, t.Devices)
	return opt, nil
}

// epochDetail is what the progress bar says about an epoch and the last evaluation.
func epochDetail(s pipeline.EpochStats, val *float64) string {
	text := "loss " + number.Plain.Text(s.Loss)
	if val != nil {
		text += "  val " + term.Score(val)
	}
	wall := s.Train.Seconds()
	return text + "  " + term.Duration(&wall)
}

// identity is the hash of everything that decides the bits of a run: data, settings and plan.
func (t *Run) identity() string {
	cfg := t.Config
	cfg.Dataset, cfg.DatasetPath, cfg.CheckpointEvery, cfg.Profile, cfg.Plan = "", "", runfolder.Cadence{}, "", ""
	cfg.Epochs, cfg.BegunEpochs = cmp.Or(cfg.BegunEpochs, cfg.Epochs), 0
	if t.Resume && t.place != nil { // other devices may continue a run
		cfg.Devices = t.place.began
	}
	h := sha256.New()
	for _, o := range runfolder.Options {
		if value, decides := o.Identity(&cfg); decides {
			fmt.Fprintf(h, "%s=%v\n", o.Name, value)
		}
	}
	if t.Plan != nil {
		fmt.Fprintf(h, "plan=%s\n", t.Plan.Key)
	}
	return hex.EncodeToString(h.Sum(nil))
}
