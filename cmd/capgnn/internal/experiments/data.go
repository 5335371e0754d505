package experiments

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/graph/dataset/fetch"
	"capgnn/graph/dataset/stores"
	"capgnn/graph/synth"
)

// loadedData is a data set made ready, kept from one cell to the next.
type loadedData struct {
	key  string
	data *datasets.Input
	path string
}

// datasets returns the data sets of an experiment: of --datasets, which must be there, or its own, as far as they are.
func (b *Bench) datasets(e Experiment) ([]string, error) {
	if b.opt.Datasets != nil {
		for _, name := range b.opt.Datasets {
			if _, _, err := b.standIn(name); err != nil {
				return nil, err
			}
		}
		return b.opt.Datasets, nil
	}
	list := e.full
	if b.opt.Quick {
		list = e.quick
	}
	var found []string
	for _, name := range list {
		if _, preset, _ := b.standIn(name); preset == nil {
			if _, _, err := fetch.Resolve(name, term.DataRoots()); err != nil {
				if !b.noted[name] {
					b.k.Note("note: without %s, which is not there: `capgnn data fetch %s` gets it", name, name)
				}
				b.noted[name] = true
				continue
			}
		}
		found = append(found, name)
	}
	return found, nil
}

// standIn returns the preset and the scale that PRESET:SCALE or PRESET names; nil: it names none.
func (b *Bench) standIn(item string) (scale string, p *synth.Preset, err error) {
	name, text, scaled := strings.Cut(item, ":")
	preset, err := synth.FindPreset(name)
	if err != nil {
		if scaled {
			return "", nil, term.Usagef("--datasets %s: %w", item, err)
		}
		if _, err := datasets.Find(b.k, item); err != nil {
			return "", nil, term.Usagef("--datasets %s: %w", item, err)
		}
		return "", nil, nil
	}
	if !scaled {
		text = "1"
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err == nil {
		preset, err = preset.Scaled(factor)
	}
	if err != nil {
		return "", nil, term.Usagef("--datasets %s: %w", item, err)
	}
	return text, &preset, nil
}

// standInSeed makes stand-ins the same for all.
const standInSeed = 1

// path returns where a data set lies. A stand-in is generated once and kept in the cache folder.
func (b *Bench) path(ctx context.Context, item string) (string, error) {
	scale, preset, err := b.standIn(item)
	if err != nil || preset == nil {
		return "", err
	}
	cache, err := term.CacheFolder()
	if err != nil {
		return "", term.Usagef("--datasets %s: there is no cache folder to generate it in: set XDG_CACHE_HOME", item)
	}
	path := filepath.Join(cache, "stand-ins", fmt.Sprintf("%s-%s-%d", preset.Name, scale, standInSeed))
	if term.Exists(filepath.Join(path, "meta.json")) {
		return path, nil
	}
	k := &term.Console{Out: b.k.Out, Err: b.k.Err, Quiet: true}
	b.k.Note("generating %s", item)
	d, _, err := datasets.Synthesise(ctx, k, *preset, standInSeed)
	if err != nil {
		return "", err
	}
	watch := &term.DataWatch{Ctx: ctx, Console: k, Verb: "write"}
	err = stores.Write(path, d, watch.At)
	watch.End()
	if err != nil && term.Exists(filepath.Join(path, "meta.json")) { // another process has made it meanwhile
		return path, nil
	}
	return path, datasets.WriteError(err)
}

// load makes a data set ready for a training, which is then checked. The last one is kept.
func (b *Bench) load(ctx context.Context, t *training.Run) error {
	key := fmt.Sprintf("%s %d %v", t.Config.Dataset, t.Config.Seed, datasets.LoopsOf(&t.Config))
	if b.loaded != nil && b.loaded.key == key {
		t.Data, t.Config.DatasetPath = b.loaded.data, b.loaded.path
		return t.Load(ctx)
	}
	if err := b.forget(); err != nil {
		return err
	}
	path, err := b.path(ctx, t.Config.Dataset)
	if err != nil {
		return err
	}
	t.Config.DatasetPath = path
	if err := t.Load(ctx); err != nil {
		return err
	}
	b.loaded = &loadedData{key, t.Data, t.Config.DatasetPath}
	return nil
}

// suitWeights refuses, before anything is measured, data sets with edge weights that a model of theirs does not take.
// Stand-ins have none.
func (b *Bench) suitWeights(ctx context.Context, cells []cell) error {
	seen := map[[2]string]bool{}
	for _, c := range cells {
		data, cfg := c.id["dataset"], runfolder.Default()
		cfg.Model = c.id["model"]
		if key := [2]string{data, cfg.Model}; seen[key] || !slices.Contains(runfolder.Models, cfg.Model) || cfg.AnyNetwork().ReadsWeights() || b.journal.Find(c.id) != nil {
			continue
		} else {
			seen[key] = true
		}
		if _, preset, err := b.standIn(data); err != nil || preset != nil {
			continue // of another kind of cell, or generated
		}
		t := training.New(b.quietly(), "", runfolder.Default())
		t.Config.Dataset, t.Config.Seed = data, b.opt.Seeds[0]
		if err := b.load(ctx, t); err != nil {
			return err
		}
		if t.Data.Problem.Weighted() {
			return term.Usagef("--datasets %s: has edge weights, which %s of this experiment does not take: `capgnn data import %s --ignore-weights --out STORE` leaves them out", data, cfg.Model, data)
		}
	}
	return nil
}

// forget gives the memory of the data set back that was used last.
func (b *Bench) forget() error {
	if b.loaded == nil {
		return nil
	}
	err := b.loaded.data.Release()
	b.loaded = nil
	return err
}
