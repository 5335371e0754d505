// Package synth draws graphs that stand in for published data.
//
// Random, RMAT and Blocks draw plain graphs. A Preset makes Data: a graph of nested Communities with features (Dense, Words),
// labels (Targets, FlipLabels) and the best score that can be expected. docs/formats/synth.md describes the presets and their
// figures.
//
// Everything here is a pure function of its arguments: equal seeds give equal bits on every 64-bit platform and for any number
// of threads.
//
//	preset, err := synth.FindPreset("reddit-like")
//	preset, err = preset.Scaled(0.1)
//	data, err := preset.Make(ctx, seed, synth.Options{})
package synth
