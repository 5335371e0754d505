package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/pipeline/halo"
)

// account is what runs are compared by.
type account struct {
	sha    string
	losses []float64
	scores []string
}

// shaOf trains, with windows full of NaN between turns.
func shaOf(t *testing.T, tr *Trainer) string {
	t.Helper()
	bad := slices.Repeat([]byte{0xff}, 1<<16)
	for _, w := range tr.windows {
		w.Spoil = func(q gpu.Queue, b gpu.Buffer) {
			for at := gpu.Bytes(0); at < b.Size(); at += gpu.Bytes(len(bad)) {
				q.Upload(b, at, bad[:min(gpu.Bytes(len(bad)), b.Size()-at)])
			}
		}
	}
	r, err := tr.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r.WeightsSHA
}

// sameStreamed compares a run of parts on devices, by their numbers, held together and in turns.
func sameStreamed(t *testing.T, p *learn.Problem, m named.Model, on []int, edit func(o *Options)) {
	t.Helper()
	run := func(stream bool) (account, gpu.Bytes) {
		devs := cpus(t, 1+slices.Max(on))
		var list []gpu.Device
		for _, k := range on {
			list = append(list, devs[k])
		}
		var a account
		tr := newTrainer(t, p, m, list, scatterParts(p.Vertices(), len(list)), func(o *Options) {
			o.Epochs, o.EvalEvery = 3, 2
			if edit != nil {
				edit(o)
			}
			o.Stream = stream
			o.OnEpoch = func(e EpochStats) error {
				scores, err := json.Marshal(e.Metrics)
				a.losses, a.scores = append(a.losses, e.Loss), append(a.scores, string(scores))
				return err
			}
		})
		a.sha = shaOf(t, tr)
		return a, devs[0].Memory().HighWater
	}
	held, most := run(false)
	streamed, least := run(true)
	if fmt.Sprint(held) != fmt.Sprint(streamed) {
		t.Errorf("held:     %.16v\nstreamed: %.16v", held, streamed)
	}
	if many := len(on) > 2; many && p.Vertices() > 100 && least >= most {
		t.Errorf("held parts take %d bytes of device 0, streamed ones %d", most, least)
	}
}

// Parts that take turns have the bits of parts that are held together: weights, losses and scores.
func TestStreamedPartsHaveTheBitsOfHeldOnes(t *testing.T) {
	norms := []named.Kind{named.GCN, named.SAGE, named.GIN, named.GAT, named.GATv2}
	bf16 := func(o *Options) { o.Storage = gpu.BF16 }
	weighs := func(o *Options) { o.Task = learn.Labels{Weights: []float64{1, 2, 3, 4, 5, 6}, Smoothing: 0.1} }
	for _, v := range []struct {
		name  string
		task  task
		on    []int // device of each part
		kinds []named.Kind
		model func(m *named.Model)
		edit  func(o *Options)
	}{
		{name: "plain", task: task{directed: true, share: 0.5}, on: []int{0, 0, 0}, kinds: named.Kinds},
		{name: "needed 5 %", task: task{directed: true, share: 0.05}, on: []int{0, 0, 0, 1, 1}, kinds: named.Kinds},
		{name: "residual", task: task{share: 0.5, residual: true}, on: []int{0, 0, 1}, kinds: norms},
		{name: "jk", task: task{share: 0.5}, on: []int{0, 0, 1, 1}, kinds: norms,
			model: func(m *named.Model) { m.Jumping = true }},
		{name: "sparse", task: task{sparse: true, multi: true, share: 0.3}, on: []int{0, 0}, kinds: named.Kinds},
		{name: "bf16", task: task{share: 0.5}, on: []int{0, 0, 0, 1, 1, 2}, edit: bf16,
			kinds: []named.Kind{named.GCN, named.SAGE, named.GIN}},
		{name: "dropped features", task: task{share: 0.5}, on: []int{0, 1, 0}, kinds: norms,
			model: func(m *named.Model) { m.DropFeatures = true }},
		{name: "dropped attention", task: task{share: 0.5}, on: []int{0, 0, 1, 1}, kinds: norms[3:],
			model: func(m *named.Model) { m.AttentionDropout = 0.3 }},
		{name: "weighted edges", task: task{share: 0.5, directed: true}, on: []int{0, 0, 0}, kinds: weighted},
		{name: "pruned", task: task{share: 0.5}, on: []int{0, 0, 0}, kinds: norms},
		{name: "weighted classes", task: task{share: 0.5}, on: []int{0, 0, 0}, edit: weighs, kinds: norms[:1]},
		{name: "two vertices a part", task: task{vertices: 12, share: 0.9}, on: []int{0, 0, 0, 1, 1, 0}, kinds: norms},
	} {
		for _, kind := range v.kinds {
			t.Run(v.name+"/"+string(kind), func(t *testing.T) {
				p, m := v.task.make(t, kind)
				if v.model != nil {
					v.model(&m)
				}
				if v.name == "weighted edges" {
					weigh(p, kind)
				}
				if v.name == "pruned" {
					v.edit = func(o *Options) { o.Dropped = dropReplicas(p.Graph, o.Part, len(v.on), 0.5) }
				}
				sameStreamed(t, p, m, v.on, v.edit)
			})
		}
	}
}

// Where parts meet to sum over all vertices, a turn ends, too.
func TestStreamedPartsMeet(t *testing.T) {
	for name := range overAll {
		p, m := summing(t, name)
		sameStreamed(t, p, m, []int{0, 0, 1, 0}, nil)
	}
	p, m := normed(t)
	sameStreamed(t, p, m, []int{0, 1, 0, 1, 1}, nil)
}

// A run goes on in turns from the checkpoint of one whose parts were held, and the other way round.
func TestStreamedPartsGoOn(t *testing.T) {
	p, m := task{share: 0.5}.make(t, named.GAT)
	run := func(dir string, epochs int, stream, resume bool) string {
		dev := cpus(t, 1)[0]
		return shaOf(t, newTrainer(t, p, m, []gpu.Device{dev, dev, dev}, scatterParts(p.Vertices(), 3), func(o *Options) {
			o.Epochs, o.CheckpointDir, o.CheckpointEvery, o.Stream, o.Resume = epochs, dir, 2, stream, resume
		}))
	}
	want := run(t.TempDir(), 6, false, false)
	for _, first := range []bool{false, true} {
		dir := t.TempDir()
		run(dir, 4, first, false)
		if got := run(dir, 6, !first, true); got != want {
			t.Errorf("streamed %t, then %t: weights %.12s, want %.12s", first, !first, got, want)
		}
	}
}

// An epoch moves what was counted before it, and the device has no more than its budget.
func TestStreamedBytes(t *testing.T) {
	for _, kind := range []named.Kind{named.GCN, named.SAGE, named.GATv2} {
		p, m := task{directed: true, share: 0.2}.make(t, kind)
		on := func(dev gpu.Device) *Trainer {
			return newTrainer(t, p, m, []gpu.Device{dev, dev, dev}, scatterParts(p.Vertices(), 3), func(o *Options) { o.Stream = true })
		}
		dev := cpus(t, 1)[0]
		tr := on(dev)
		before := make([]gpu.Usage, 3)
		for i, w := range tr.workers {
			before[i] = w.Compute.Usage()
		}
		if err := tr.runParts(0, 0); err != nil {
			t.Fatal(err)
		}
		var up, down gpu.Bytes
		for i, w := range tr.workers {
			u := w.Compute.Usage().Sub(before[i])
			up, down = up+u.H2D, down+u.D2H-gpu.Bytes(len(w.LossHost))
		}
		all, copies := tr.Streams()
		if s := all[dev]; s.Up != up || s.Down != down || s.Parts != 3 || copies == 0 {
			t.Errorf("%s: %d bytes go up and %d down, counted: %+v", kind, up, down, s)
		}
		book := ledger.New(dev.Info())
		if plan, room := on(book).Streams(); plan[book] != all[dev] || room != copies {
			t.Errorf("%s: %+v and %d bytes of the host, planned %+v and %d", kind, all[dev], copies, plan[book], room)
		}
		if most, held := dev.Memory().HighWater, 3*3*4*gpu.Bytes(len(tr.Weights.Flat)); most > all[dev].Window+held+1<<14 {
			t.Errorf("%s: device takes %d bytes, its window %d, weights, gradients and moments %d", kind, most, all[dev].Window, held)
		}
	}
}

// What cannot be streamed is refused by name.
func TestStreamRefuses(t *testing.T) {
	p, m := task{share: 0.5}.make(t, named.GCN)
	dev := cpus(t, 1)[0]
	for want, edit := range map[string]func(o *Options){
		"stale rows":        func(o *Options) { o.Cache.Staleness = 1 },
		"encoded halo rows": func(o *Options) { o.Cache.HaloType = halo.BF16 },
		"isolated parts":    func(o *Options) { o.Isolated = &Isolated{} },
	} {
		o := Options{Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}},
			Devices: []gpu.Device{dev, dev}, Part: scatterParts(p.Vertices(), 2), Stream: true}
		edit(&o)
		if _, err := New(context.Background(), p, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
