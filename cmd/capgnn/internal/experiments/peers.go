package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/docs"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/graph/dataset/stores"
	"capgnn/internal/bench"
	"capgnn/python"
)

// peersExperiment times other programs beside this one.
func peersExperiment() Experiment {
	return Experiment{Name: "peers", Usage: "epoch times of capgnn, torch, torch_geometric and dgl, with the Python of --python",
		full: []string{"coauthor_physics", "reddit-like:0.1"}, quick: []string{"flickr-like:0.05"}, plan: planPeers}
}

// baseline is another program: a script below docs/bench/peers, and the arguments that make it fastest there (docs/bench/cpu.md).
type baseline struct {
	name, script string
	args         []string
}

// baselines begin with the one that any interpreter must run.
var baselines = []baseline{
	{"torch", "torch_epoch.py", []string{"--panel", "32"}}, {"torch_geometric", "pyg_epoch.py", nil},
	{"dgl", "dgl_epoch.py", nil}, {"dgl-products", "dgl_epoch.py", []string{"--conv", "products", "--panel", "32"}},
}

const (
	ours       = "capgnn"
	peerWarmUp = 2 // epochs that no median counts
)

func planPeers(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	if b.opt.Python == "" {
		if b.peersOnly {
			return nil, nil, term.Usagef("bench peers: give --python, an interpreter that has torch")
		}
		b.k.Note("note: without peers: --python names an interpreter that has torch")
		return nil, nil, nil
	}
	there, err := b.installedPeers()
	if err != nil {
		return nil, nil, err
	}
	rounds, epochs, models := 5, b.epochs(12, 5)+peerWarmUp, []string{"gcn", "sage"}
	if b.opt.Quick {
		rounds, models = 2, models[:1]
	}
	names := append([]string{ours}, there...)
	id := func(data, model, peer string, round int) bench.Cell {
		return bench.Cell{"kind": "peer", "dataset": data, "model": model, "peer": peer, "round": strconv.Itoa(round), "epochs": strconv.Itoa(epochs), "threads": strconv.Itoa(devices.Cores()), "python": b.opt.Python}
	}
	var cells []cell
	for _, data := range datasets {
		for _, model := range models {
			for round := range rounds {
				for _, peer := range names {
					cells = append(cells, cell{id(data, model, peer, round), func(ctx context.Context) (*bench.Line, error) {
						if peer == ours {
							return b.ourEpochs(ctx, data, model, epochs)
						}
						return b.peerEpochs(ctx, data, model, peer, epochs)
					}})
				}
			}
		}
	}
	return cells, func() bench.Section { return b.showPeers(datasets, models, there, rounds, id) }, nil
}

// installedPeers returns the names of the baselines that the interpreter can run: those whose script says what its flags are,
// which it does behind all its imports.
func (b *Bench) installedPeers() ([]string, error) {
	scripts, err := unpackScripts()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scripts.folder)
	var out []string
	for i, p := range baselines {
		text, err := exec.Command(b.opt.Python, scripts.path(p), "--help").CombinedOutput()
		switch {
		case err == nil:
			out = append(out, p.name)
		case i == 0:
			return nil, term.Usagef("--python %s: it cannot run torch: %s", b.opt.Python, lastLine(text, err))
		default:
			b.k.Note("note: peers: without %s: %s", p.name, lastLine(text, err))
		}
	}
	return out, nil
}

// peerScripts are the scripts of the baselines as files, which is how an interpreter wants them.
type peerScripts struct{ folder string }

func unpackScripts() (peerScripts, error) {
	folder, err := os.MkdirTemp("", "capgnn-peers-*")
	if err != nil {
		return peerScripts{}, err
	}
	// As in the repository, where scripts find package capgnn by its place.
	for name, files := range map[string]fs.FS{"docs": docs.Scripts, "python": python.Package} {
		if err := os.CopyFS(filepath.Join(folder, name), files); err != nil {
			return peerScripts{}, errors.Join(fmt.Errorf("unpack scripts: %w", err), os.RemoveAll(folder))
		}
	}
	return peerScripts{folder}, nil
}

func (s peerScripts) path(p baseline) string {
	return filepath.Join(s.folder, "docs", "bench", "peers", p.script)
}

// peerEnvironment is that of a baseline: freed memory stays with the process, so that later epochs have no page faults.
func peerEnvironment() []string {
	return append(os.Environ(), fmt.Sprintf("OMP_NUM_THREADS=%d", devices.Cores()), fmt.Sprintf("MKL_NUM_THREADS=%d", devices.Cores()),
		"MALLOC_TRIM_THRESHOLD_=68719476736", "MALLOC_MMAP_THRESHOLD_=4294967296", "MALLOC_TOP_PAD_=67108864")
}

// lastLine returns the last line that a program has written, or what else went wrong.
func lastLine(text []byte, err error) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return last
	}
	return err.Error()
}

// ourEpochs trains with this program on one CPU device with all cores.
func (b *Bench) ourEpochs(ctx context.Context, data, model string, epochs int) (*bench.Line, error) {
	l, err := b.train(ctx, setting{Dataset: data, Model: model, Devices: fmt.Sprintf("cpu:0,threads=%d", devices.Cores()), Seed: b.opt.Seeds[0], Epochs: epochs})
	if err != nil {
		return nil, err
	}
	l.Values["epoch_s"] = medianOf(l.Series["epoch_s"][peerWarmUp:])
	return l, nil
}

// runPeer runs the script of a baseline on a data set, and reads the result that it prints in its last line.
func (b *Bench) runPeer(ctx context.Context, data string, p baseline, result any, args ...string) error {
	store, err := b.store(ctx, data)
	if err != nil {
		return err
	}
	scripts, err := unpackScripts()
	if err != nil {
		return err
	}
	defer os.RemoveAll(scripts.folder)
	args = slices.Concat([]string{scripts.path(p), "--dataset", store}, args,
		[]string{"--seed", strconv.FormatUint(b.opt.Seeds[0], 10)}, p.args)
	cmd := exec.CommandContext(ctx, b.opt.Python, args...)
	cmd.Env = peerEnvironment()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s on %s: %s", p.name, data, lastLine(errs.Bytes(), err))
	}
	if err := json.Unmarshal([]byte(lastLine(out.Bytes(), errors.New("it printed nothing"))), result); err != nil {
		return fmt.Errorf("%s on %s: its last line is no result", p.name, data)
	}
	return nil
}

// peerEpochs runs a script on the same graph.
func (b *Bench) peerEpochs(ctx context.Context, data, model, peer string, epochs int) (*bench.Line, error) {
	p := baselines[slices.IndexFunc(baselines, func(p baseline) bool { return p.name == peer })]
	var result struct {
		Versions map[string]string `json:"versions"`
		EpochS   []float64         `json:"epoch_s"`
		Losses   []float64         `json:"losses"`
	}
	err := b.runPeer(ctx, data, p, &result, "--model", model, "--epochs", strconv.Itoa(epochs),
		"--warm-up", strconv.Itoa(peerWarmUp), "--threads", strconv.Itoa(devices.Cores()))
	if err != nil {
		return nil, err
	}
	if len(result.EpochS) != epochs {
		return nil, fmt.Errorf("%s on %s: its last line is no result of %d epochs", peer, data, epochs)
	}
	l := newLine()
	l.Series["epoch_s"], l.Series["loss"], l.Text = result.EpochS, result.Losses, result.Versions
	l.Values["epoch_s"] = medianOf(result.EpochS[peerWarmUp:])
	return l, nil
}

// store returns a native store of a data set: where it lies, if it is one, or a copy in the cache folder.
func (b *Bench) store(ctx context.Context, item string) (string, error) {
	path, err := b.path(ctx, item)
	if err == nil && path == "" {
		path, err = datasets.Find(b.k, item)
	}
	if err != nil {
		return "", term.AsUsage(err)
	}
	if path, err = filepath.Abs(path); err != nil || term.Exists(filepath.Join(path, "meta.json")) {
		return path, err
	}
	cache, err := term.CacheFolder()
	if err != nil {
		return "", term.Usagef("--datasets %s: there is no cache folder to convert it in: set XDG_CACHE_HOME", item)
	}
	copied := filepath.Join(cache, "stand-ins", "store-"+shortDataset(item))
	if _, err := os.Stat(copied); !errors.Is(err, fs.ErrNotExist) {
		return copied, err
	}
	d, err := formats.Load(path, dataset.Options{})
	if err != nil {
		return "", term.AsUsage(err)
	}
	return copied, errors.Join(stores.Write(copied, d, nil), d.Close())
}

func medianOf(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	if len(x) == 0 {
		return 0
	}
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

func (b *Bench) showPeers(datasets, models, there []string, rounds int, id func(string, string, string, int) bench.Cell) bench.Section {
	s := bench.Section{Title: "Peers: the same model on the same graph", Text: []string{fmt.Sprintf(
		"One process each, %d threads, the native store; 3 layers, hidden 256, dropout 0.5, Adam; an epoch is forward, loss, backward and update. Programs take turns, %d rounds; ratios are those of one round: median, and least to largest. On a machine that does other work compare ratios, not times. torch and dgl-products (our loop over DGL's product) take products in panels of 32 columns; no program has MKL told which kernels to take. Scripts: docs/bench/peers.", devices.Cores(), rounds)}}
	t := bench.Table{Columns: []string{"data set", "model", "peer", "its epoch ms", "capgnn ms", "times as long", "from", "to", "versions"}}
	panel := bench.Panel{Title: "median epoch", Y: "time, ratio to capgnn"}
	series := map[string]*bench.Series{}
	for _, data := range datasets {
		for _, model := range models {
			panel.Groups = append(panel.Groups, shortDataset(data)+", "+model)
			for _, peer := range there {
				var its, own, ratios []float64
				for round := range rounds {
					its = append(its, b.line(id(data, model, peer, round)).Value("epoch_s"))
					own = append(own, b.line(id(data, model, ours, round)).Value("epoch_s"))
					ratios = append(ratios, its[round]/own[round])
				}
				m := medianOf(ratios)
				versions := b.line(id(data, model, peer, 0)).Text
				var text []string
				for _, name := range []string{"python", "torch", "torch_geometric", "dgl"} {
					if v := versions[name]; v != "" {
						text = append(text, name+" "+v)
					}
				}
				t.Add(shortDataset(data), model, peer, fmt.Sprintf("%.2f", 1e3*medianOf(its)), fmt.Sprintf("%.2f", 1e3*medianOf(own)), fmt.Sprintf("%.2f", m), fmt.Sprintf("%.2f", slices.Min(ratios)), fmt.Sprintf("%.2f", slices.Max(ratios)), strings.Join(text, ", "))
				if series[peer] == nil {
					series[peer] = &bench.Series{Name: peer}
				}
				series[peer].Y = append(series[peer].Y, m)
			}
		}
	}
	for _, peer := range there {
		panel.Series = append(panel.Series, *series[peer])
	}
	s.Tables, s.Figures = []bench.Table{t}, []bench.Figure{{Title: "Time of an epoch over capgnn's", Panels: []bench.Panel{panel}}}
	return s
}
