package training

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/pipeline"
)

// ForPrediction are the steps of a prediction between the data set and the network: its devices and parts.
func (t *Run) ForPrediction() []func(context.Context) error {
	if t.Ranks == nil {
		return []func(context.Context) error{t.ChooseDevices, t.mapShards, t.Divide, t.Open}
	}
	divide := func(ctx context.Context) error { return t.takeDecisions(ctx, t.Divide) }
	return []func(context.Context) error{t.compareData, t.placeTogether, t.mapShards, t.profileTogether, divide, t.Open}
}

// TakePart returns the run of a rank by the settings that rank 0 has, text in the format of config.yaml, but for what is this rank's own.
func TakePart(k *term.Console, m *ranks.Members, own Own, text string) (*Run, error) {
	t := &Run{Console: k, Config: runfolder.Default(), Ranks: m, Own: own}
	err := runfolder.ParseConfig([]byte(text), &t.Config)
	t.useOwn(own)
	return t, err
}

// Place gives a prediction the parts of this process, on its devices.
func (t *Run) Place(o *pipeline.PredictOptions) {
	var all pipeline.Options
	t.here(&all, t.Devices)
	o.Devices, o.First, o.Parts, o.Ranks = all.Devices, all.First, all.Parts, all.Ranks
}

// PredictionFits says of a prediction for which a device was too small with how much more memory it fits. try predicts on
// other devices: whole says that what it takes of them does not depend on what they have.
func (t *Run) PredictionFits(small *gpu.OutOfMemory, whole bool, try func(devices []gpu.Device) error) error {
	if small.Have >= small.Need || t.Ranks != nil { // the host's memory; all ranks would have to try
		return &term.FitError{Err: small, Remedy: MoreMemory(small) + ", or name more --devices"}
	}
	lacks, fault := make([]gpu.Bytes, len(t.Devices)), error(small)
	if !whole {
		lacks = slices.Repeat([]gpu.Bytes{small.Need - small.Have}, len(t.Devices))
	}
	for range moreTries {
		var books []gpu.Device
		for i, d := range t.Devices {
			budget := d.Info().Budget + lacks[i]
			if whole {
				budget = 0
			}
			books = append(books, ledger.InPlaceOf(d, budget))
		}
		if fault = try(books); whole && fault == nil {
			for i, d := range t.Devices {
				lacks[i] = max(0, books[i].Memory().HighWater-d.Info().Budget)
			}
		}
		if whole || !errors.As(fault, new(*gpu.OutOfMemory)) {
			break
		}
		for i := range lacks {
			lacks[i] *= 2
		}
	}
	if fault != nil {
		return &term.FitError{Err: small, Remedy: MoreMemory(small) + ", or name more --devices"}
	}
	i := slices.Index(lacks, slices.Max(lacks))
	have := t.Devices[i].Info().Budget
	return &term.FitError{Err: fmt.Errorf("%s: the prediction needs %s, the device has %s", t.Specs[i], term.Size(have+lacks[i]), term.Size(have)),
		Remedy: t.giveMore(lacks) + ", or name more --devices"}
}
