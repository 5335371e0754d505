package training

import (
	"context"

	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
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
