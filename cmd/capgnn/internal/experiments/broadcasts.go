package experiments

import (
	"context"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/internal/bench"
)

// kindBroadcast is a cell in which the bytes of a baseline that broadcasts are counted.
const kindBroadcast = "broadcast"

// The baselines of SANCUS (Peng et al., VLDB 2022). Their rules are those of its published code (light-dist-gnn,
// models/gcn.py and models/cached_gcn.py): vertices are split in equal blocks, and every block is broadcast whole, whoever
// reads it: the input of each layer forward, the gradient of its output backward. Gradients of weights are added by all.
const (
	distGCN   = "DistGCN"   // everything in every epoch
	cachedGCN = "CachedGCN" // features once, rows of hidden layers as fullEpochs says; gradients in every epoch
)

var broadcasters = []string{distGCN, cachedGCN}

// paperEpochs is how many epochs a run of the paper has.
const paperEpochs = 200

// fullEpochs is in how many epochs CachedGCN broadcasts rows of hidden layers before it takes those of every second epoch
// from its cache.
const fullEpochs = 51

// broadcastBytes returns how many bytes of fp32 all parts receive in an epoch, in the mean of a run. widths are those of
// features, hidden layers and classes. Gradients of weights go round a ring: each of P parts receives 2·(P−1)/P of them.
func broadcastBytes(system string, vertices, parts, epochs int, widths []int) float64 {
	hidden := epochs
	if system == cachedGCN && epochs > fullEpochs {
		hidden = fullEpochs + (epochs-fullEpochs)/2
	}
	rows, weights := 0.0, 0.0
	for l, out := range widths[1:] {
		forward := 1.0
		switch {
		case l > 0:
			forward = float64(hidden) / float64(epochs)
		case system == cachedGCN:
			forward = 1 / float64(epochs)
		}
		rows += forward*float64(widths[l]) + float64(out)
		weights += float64(widths[l]) * float64(out)
	}
	return 4 * float64(parts-1) * (float64(vertices)*rows + 2*weights)
}

// broadcast is the cell of a baseline on the devices of a group.
func (b *Bench) broadcast(system, data string, g group) cell {
	id := bench.Cell{"kind": kindBroadcast, "system": system, "dataset": data, "model": runfolder.GCN, "devices": g.devices}
	return cell{id, func(ctx context.Context) (*bench.Line, error) {
		t := training.New(b.quietly(), "", runfolder.Default())
		t.Config.Dataset, t.Config.Seed = data, b.opt.Seeds[0]
		if err := b.load(ctx, t); err != nil {
			return nil, err
		}
		specs, err := devices.Parse(g.devices)
		if err != nil {
			return nil, err
		}
		p, l := t.Data.Problem, newLine()
		widths := []int{p.Features.Cols}
		for range t.Config.Layers - 1 {
			widths = append(widths, t.Config.Hidden)
		}
		l.Values["received_bytes"] = broadcastBytes(system, p.Vertices(), len(specs), paperEpochs, append(widths, p.Classes))
		return l, nil
	}}
}

// receivedBytes returns what devices receive in an epoch: counted of a baseline, else what has moved.
func receivedBytes(l *bench.Line) float64 {
	return l.Value("received_bytes") + l.Value("h2d_bytes") + l.Value("peer_bytes")
}
