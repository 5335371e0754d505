package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gpu"
	"capgnn/internal/bench"
	"capgnn/jaca"
)

// How the parts of a setting are made.
const (
	partsEqual  = "equal"  // of equal inner vertices, edges and training vertices, whatever the devices
	partsFitted = "fitted" // for the devices, lossless: what train does by itself
	partsPruned = "pruned" // the paper's RAPA: λ is balanced by pruning replicas alone
)

// setting is one run that an experiment simulates or trains: what differs from the defaults of train.
type setting struct {
	Dataset, Devices string
	Model            string // "" = gcn
	Parts            string // "" = partsFitted
	Policy           jaca.Policy
	Local, Global    string // sizes as jaca.ParseSize reads them, "" = auto
	Staleness        string // largest age of rows in epochs, "" = 0
	Pipeline         bool
	Comm             string // a way to exchange rows, in the place of Staleness: a key of ways; "" = none
	StaleLayers      string // "" = auto
	More             string // further options of train, NAME=VALUE with blanks between
	Seed             uint64
	Epochs           int // of training
	EvalEvery        int // of training
}

// ways are the options of train by which experiments exchange rows.
var ways = map[string]map[string]string{
	"exact":   {},
	"encoded": {runfolder.HaloDtype: "int8"},
	"stale":   {runfolder.HaloDtype: "int8", "staleness": "8", runfolder.StaleLayers: runfolder.LayersWide},
}

// id names the cell that kind measures of the setting.
func (s setting) id(kind string) bench.Cell {
	c := bench.Cell{"kind": kind, "dataset": s.Dataset, "devices": s.Devices, "model": cmp.Or(s.Model, "gcn"), "parts": cmp.Or(s.Parts, partsFitted),
		"seed": strconv.FormatUint(s.Seed, 10)}
	if s.Policy != "" && s.Policy != jaca.None {
		c["cache"] = fmt.Sprintf("%s local=%s global=%s", s.Policy, cmp.Or(s.Local, "auto"), cmp.Or(s.Global, "auto"))
	}
	if s.Staleness != "" && s.Staleness != "0" {
		c["staleness"] = s.Staleness
	}
	if s.Pipeline {
		c["pipeline"] = "on"
	}
	for name, value := range map[string]string{"more": s.More, "comm": s.Comm, "stale-layers": s.StaleLayers} {
		if value != "" {
			c[name] = value
		}
	}
	if kind == kindTrain {
		c["epochs"], c["eval-every"] = strconv.Itoa(s.Epochs), strconv.Itoa(s.EvalEvery)
	}
	return c
}

// prepare loads the data set and makes the parts; a part that does not fit its device is a *FitError.
func (b *Bench) prepare(ctx context.Context, s setting) (*training.Run, error) {
	t := training.New(b.quietly(), "", runfolder.Default())
	t.Config.Dataset, t.Config.Devices, t.Config.Model, t.Config.Seed = s.Dataset, s.Devices, cmp.Or(s.Model, "gcn"), s.Seed
	t.Config.Epochs, t.Config.EvalEvery, t.Config.Order = s.Epochs, s.EvalEvery, runfolder.OrderNone
	t.Config.Cache, t.Config.Pipeline = cmp.Or(string(s.Policy), string(jaca.None)), runfolder.SwitchOff
	if s.Policy != "" && !slices.Contains(jaca.Policies, s.Policy) { // replay gives the slots of its plan to other rows
		t.Config.Cache = string(jaca.JACA)
	}
	t.Config.Set("cache.gpu", cmp.Or(s.Local, "auto"))
	t.Config.Set("cache.cpu", cmp.Or(s.Global, "auto"))
	t.Config.Set("staleness", cmp.Or(s.Staleness, "0"))
	t.Config.Set(runfolder.StaleLayers, cmp.Or(s.StaleLayers, runfolder.LayersAuto))
	if s.Pipeline {
		t.Config.Pipeline = runfolder.SwitchOn
	}
	for name, value := range ways[s.Comm] {
		t.Config.Set(name, value)
	}
	switch s.Parts {
	case partsEqual:
		t.Anonymous = true
	case partsPruned:
		t.Config.MaxPrune, t.Config.Move = 1, false
	}
	for item := range strings.FieldsSeq(s.More) {
		name, value, _ := strings.Cut(item, "=")
		t.Config.Set(name, value)
	}
	if err := b.load(ctx, t); err != nil {
		return nil, err
	}
	if err := t.ChooseDevices(ctx); err != nil {
		return nil, err
	}
	return t, t.Decide(ctx, training.Divide, training.SettleCache, training.SettleAging)
}

// begin prepares a setting for its cell. Where it does not fit the devices, there is no run, and the line says so: its Text "misfit".
func (b *Bench) begin(ctx context.Context, s setting) (*training.Run, *bench.Line, error) {
	l := newLine()
	t, err := b.prepare(ctx, s)
	var misfit *term.FitError
	if errors.As(err, &misfit) {
		l.Text["misfit"] = term.OneLine(err)
		return nil, l, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return t, l, nil
}

// counted are the parts of a plan in numbers: what every kind of cell says about them.
func counted(t *training.Run, l *bench.Line) {
	p := t.Plan
	if p == nil {
		l.Values["vertices"], l.Values["edges"] = float64(t.Data.Problem.Vertices()), float64(t.Data.Problem.Graph.Edges())
		return
	}
	for i, s := range p.Parts {
		lost, rows := int64(0), int64(0)
		if p.Dropped != nil {
			lost, rows = p.Lost.PerPart[i], p.Lost.Replicas[i]
		}
		for name, x := range map[string]int64{"vertices": s.Inner, "edges": s.Edges - lost, "halo_rows": s.Halo - rows, "cut": s.Cut - lost} {
			l.Values[name] += float64(x)
			l.Series[name] = append(l.Series[name], float64(x))
		}
	}
	l.Values["lost_share"] = p.Lost.Share
}

func newLine() *bench.Line {
	return &bench.Line{Values: map[string]float64{}, Series: map[string][]float64{}, Text: map[string]string{}}
}

// addBytes keeps the bytes of all routes.
func addBytes(l *bench.Line, h2d, d2h, peer gpu.Bytes) {
	l.Values["h2d_bytes"], l.Values["d2h_bytes"], l.Values["peer_bytes"] = float64(h2d), float64(d2h), float64(peer)
	l.Values["bytes"] = float64(h2d + d2h + peer)
}
