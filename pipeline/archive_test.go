package pipeline

import (
	"fmt"
	"slices"
	"sync"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/meet"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// archive is the slow and plain truth about stale rows: every row of every epoch is kept on the host, and a reader gets the
// version that the schedule names. It stands in for the exchanges of a part, with their halo matrices.
type archive struct {
	tr   *Trainer
	w    *worker
	at   []halo.Placement
	past *history
}

type history struct {
	mu   sync.Mutex
	cond *sync.Cond
	rows map[string][]byte // by exchange, epoch and part
}

func (s *history) put(key string, rows []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[key] = rows
	s.cond.Broadcast()
}

func (s *history) get(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.rows[key] == nil {
		s.cond.Wait()
	}
	return s.rows[key]
}

func (a archive) BeginEpoch(gpu.Queue) {}
func (a archive) EndEpoch(gpu.Queue)   {}
func (a archive) Lags() bool           { return false }

// key names the rows of an exchange that a part has made in an epoch.
func (a archive) key(l halo.ID, epoch, part int) string {
	return fmt.Sprint(l, epoch, part)
}

func (a archive) Begin(q gpu.Queue, layer int, dir gnn.Direction, rows gpu.Matrix) {
	host := make([]byte, rows.Rows*rows.Cols*rows.Type.Size()+1)
	if rows.Rows > 0 {
		if rows.LD != rows.Cols {
			panic("rows with gaps")
		}
		q.Download(host[:len(host)-1], rows.Buf, gpu.Bytes(rows.Off*rows.Type.Size()))
	}
	if err := q.Sync(); err != nil {
		meet.Stop(err)
	}
	epoch := a.tr.Hub.Epoch
	blur(&a.tr.o, halo.ID{Layer: layer, Dir: dir}, rows, host, a.sent(halo.ID{Layer: layer, Dir: dir}, rows.Rows), epoch)
	a.past.put(a.key(halo.ID{Layer: layer, Dir: dir}, epoch, a.w.Index), host)
}

func (a archive) Wait(q gpu.Queue, layer int, dir gnn.Direction) gpu.Matrix {
	id, now := halo.ID{Layer: layer, Dir: dir}, a.tr.Hub.Epoch
	index := slices.IndexFunc(a.at, func(p halo.Placement) bool { return p.ID == id })
	at, schedule, table := a.at[index], a.tr.halo.Schedules()[index], tableOf(a.tr.Caches(), id)
	halo := at.Halo
	size := halo.Cols * halo.Type.Size()
	for k, in := range a.incoming(id) {
		row, epoch := k, schedule.Fresh(now)
		if at.Row != nil {
			row = int(at.Row[k])
		}
		if row < 0 {
			continue
		}
		if table != nil && table.Readers[a.w.Index].Class[k] >= 0 {
			epoch = schedule.Version(int(table.Readers[a.w.Index].Class[k]), now)
		}
		from := a.past.get(a.key(id, epoch, in.owner))
		first := in.source * size
		if in.source < 0 || first+size > len(from) {
			continue // not exchanged: the owner has no such row in this layer
		}
		q.Upload(halo.Buf, gpu.Bytes(halo.Off*halo.Type.Size()+row*size), from[first:first+size])
	}
	return halo
}

// incoming is where a halo row comes from.
type incoming struct {
	owner, source int // part, and row of its matrix; −1: none
}

// incoming lists the halo rows of an exchange, by halo index. Gradients that are returned are of the parts that read a vertex of this one, by part and by
// their halo indices.
func (a archive) incoming(id halo.ID) []incoming {
	var out []incoming
	if !a.returns(id) {
		b := &a.w.part.In
		if id.Dir == gnn.Backward {
			b = &a.w.part.Out
		}
		for k, v := range b.IDs {
			out = append(out, incoming{ownerOf(b, k), int(a.tr.cut.LocalOf[v])})
		}
		return out
	}
	for j, p := range a.tr.layout.kept.Parts {
		rows := a.tr.workers[j].trainHalo.(archive).rowsRead(id.Layer)
		lo, hi := p.In.Owners.Of(a.w.Index)
		for h := lo; h < hi; h++ {
			out = append(out, incoming{j, rows[h]})
		}
	}
	return out
}

// returns reports whether the rows of an exchange are gradients that are returned.
func (a archive) returns(id halo.ID) bool {
	return id.Dir == gnn.Backward && a.tr.plan.Layers[id.Layer].Returns
}

// rowsRead returns, by halo index, the row of the forward halo matrix of a layer.
func (a archive) rowsRead(layer int) []int {
	out := make([]int, len(a.tr.layout.kept.Parts[a.w.Index].In.IDs))
	k := slices.IndexFunc(a.at, func(p halo.Placement) bool { return p.ID == halo.ID{Layer: layer, Dir: gnn.Forward} })
	for h := range out {
		if out[h] = h; a.at[k].Row != nil {
			out[h] = int(a.at[k].Row[h])
		}
	}
	return out
}

// sent returns the vertices of the rows that a part offers in an exchange.
func (a archive) sent(id halo.ID, rows int) []graph.NodeID {
	if !a.returns(id) {
		return a.w.part.Inner
	}
	out := make([]graph.NodeID, rows)
	for h, row := range a.rowsRead(id.Layer) {
		if row >= 0 {
			out[row] = a.tr.layout.kept.Parts[a.w.Index].In.IDs[h]
		}
	}
	return out
}

// tableOf returns the table of an exchange; nil: its rows have no slots.
func tableOf(p *jaca.Plan, id halo.ID) *jaca.Table {
	if p == nil {
		return nil
	}
	for _, t := range p.Tables {
		if t.Layer == id.Layer && t.Dir == id.Dir {
			return t
		}
	}
	return nil
}

// ownerOf returns the part that owns a halo row.
func ownerOf(b *graph.Block, k int) int {
	for o, owner := range b.Owners.Parts {
		if k < b.Owners.At[o+1] {
			return int(owner)
		}
	}
	panic("no owner")
}

// replaceByHistory puts the plain truth in place of a trainer's exchanges.
func replaceByHistory(tr *Trainer) {
	s := &history{rows: map[string][]byte{}}
	s.cond = sync.NewCond(&s.mu)
	for _, w := range tr.workers {
		w.trainHalo = archive{tr, w, w.trainHalo.(*halo.Exchange).Placements(), s}
	}
}
