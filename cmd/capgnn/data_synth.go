package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/stores"
	"capgnn/graph/synth"
	"capgnn/hostmem"
	"capgnn/internal/regular"
)

func presetNames() string {
	var names []string
	for _, p := range synth.Presets() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

func dataSynthAction(c *cli.Context, name string) error {
	k := term.NewConsole(c)
	preset, err := synth.FindPreset(name)
	if err != nil {
		return term.Usagef("data synth: no preset %s; there are %s", term.Quoted(name, strings.Split(presetNames(), ", ")), presetNames())
	}
	if preset, err = preset.Scaled(c.Float64("scale")); err != nil {
		return term.Usagef("--scale: %w", err)
	}
	out, err := freeFolder(c)
	if err != nil {
		return err
	}
	ctx, stop := term.Interruptible(c.Context, k, "as soon as possible")
	defer stop()
	start := time.Now()
	d, ceiling, err := datasets.Synthesise(ctx, k, preset, c.Uint64("seed"))
	if errors.Is(err, context.Canceled) {
		return &term.InterruptedError{Note: "nothing was written"}
	}
	if err != nil {
		return fmt.Errorf("data synth %s: %w", name, err)
	}
	if d.Labels != nil || d.Targets != nil {
		k.Note("no model can be expected to score more than %s on it", term.Score(&ceiling))
	}
	return writeStore(ctx, k, out, d, start)
}

// freeFolder returns the folder that --out names, in which nothing lies yet.
func freeFolder(c *cli.Context) (string, error) {
	out := c.String("out")
	if out == "" {
		return "", term.Usagef("data %s: --out is missing: name a new folder", c.Command.Name)
	}
	if !utf8.ValidString(filepath.Base(out)) {
		return "", term.Usagef("--out %q: is not UTF-8, which names of data sets need: choose another", out)
	}
	if err := cmp.Or(regular.CheckPlace(out), regular.CheckFolder(filepath.Clean(out))); err != nil {
		return "", term.Usagef("--out: %w", err)
	}
	list, err := os.ReadDir(out)
	switch {
	case err == nil && len(list) > 0:
		return "", term.Usagef("--out %s: the folder exists and is not empty; remove it or choose another", out)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", term.Usagef("--out: %w", err)
	}
	return out, nil
}

// written is the result of a command that writes a store.
type written struct {
	Path     string  `json:"path"`
	Name     string  `json:"name"`
	Vertices int     `json:"vertices"`
	Edges    int64   `json:"edges"`
	Features int     `json:"features"`
	Classes  int     `json:"classes"`
	Bytes    int64   `json:"bytes"`      // of all files
	Peak     int64   `json:"peak_bytes"` // largest resident size of this process so far; mapped files count
	Seconds  float64 `json:"seconds"`    // since the command started
}

// writeStore writes d to the new folder out and says what was written.
func writeStore(ctx context.Context, k *term.Console, out string, d *dataset.Dataset, start time.Time) error {
	k.Note("writing %s", out)
	watch := &term.DataWatch{Ctx: ctx, Console: k, Verb: "write"}
	err := stores.Write(out, d, watch.At)
	watch.End()
	if errors.Is(err, context.Canceled) {
		return &term.InterruptedError{Note: "nothing was written"}
	}
	if err != nil {
		return datasets.WriteError(err)
	}
	w := written{
		Path: out, Name: d.Name, Vertices: d.Graph.Rows(), Edges: d.Graph.Edges(), Features: d.Features.Cols, Classes: d.Classes,
		Bytes: datasets.SizeOfTree(out), Seconds: time.Since(start).Seconds(),
	}
	if w.Peak, err = hostmem.PeakRSS(); err != nil {
		return err
	}
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(w)
	}
	_, err = fmt.Fprintf(k.Out, "%s: %s vertices, %s directed edges, %s features, %d classes; %s in %s\n", w.Path,
		term.Grouped(int64(w.Vertices)), term.Grouped(w.Edges), term.Grouped(int64(w.Features)), w.Classes, term.Size(w.Bytes), term.Duration(&w.Seconds))
	return err
}
