package minibatch

import (
	"fmt"
	"sync/atomic"

	"capgnn/cluster"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
	"capgnn/pipeline/layered"
	"capgnn/pipeline/link"
)

// far is the service of a part of one of several ranks: rows of parts of this rank come as in one process, those of others as answers.
type far struct {
	service
	g      *stage
	rankOf []int    // of every part
	askers []*asker // by rank; nil: this one
}

func (f *far) ask(requests []request) []gpu.Event {
	events := make([]gpu.Event, len(requests))
	var near []request
	for i := range requests {
		r := &requests[i]
		if a := f.askers[f.rankOf[r.owner]]; a != nil {
			events[i] = a.want(featureTable, r.owner, r.ids, f.g.rowSize, func(_, offset int, rows []byte) { copy(r.area[offset:], rows) })
		} else {
			near = append(near, *r)
		}
	}
	if near == nil {
		return events
	}
	fired := f.service.ask(near)
	for i := range events {
		if events[i] == nil {
			events[i], fired = fired[0], fired[1:]
		}
	}
	return events
}

// rows is how rows travel between the parts of this process and those of others.
type rows struct {
	*Trainer
	net    *link.Net
	askers [][]*asker                    // by part of this process, and rank
	tables [2]atomic.Pointer[layerTable] // of evaluation, layers taking turns
}

// answerBytes bounds the rows of an answer to a part of a run on a model.
func (d *design) answerBytes(part int, m *gnn.Config) int {
	widest := 0
	for l := range m.Layers {
		_, out := m.RowWidth(l)
		widest = max(widest, 4*out)
	}
	rows := d.row
	if d.areas != nil { // rows are fetched for steps too
		rows = max(rows, min(int(d.areas[part]), mostAnswered))
	}
	return max(rows, widest)
}

func (t *Trainer) answerBytes(part int) int { return t.design.answerBytes(part, &t.o.Model) }

// areas are those of requests and answers: of each part, and each rank but its own.
func (t *rows) areas() (all []cluster.Area) {
	for part := range t.roots.parts {
		for rank := range t.o.Ranks.Ranks() {
			if mine := t.RankOf[part]; mine != rank {
				all = append(all, t.requests(part, rank), t.answers(part, rank))
			}
		}
	}
	return all
}

// requests is the area in which a part asks a rank, answers that in which it is answered.
func (t *rows) requests(part, rank int) cluster.Area {
	return cluster.Area{From: t.RankOf[part], To: rank, Number: trainer.FirstRowArea + uint32(part), Bytes: requestHeader + 4*mostAsked}
}

func (t *rows) answers(part, rank int) cluster.Area {
	number := trainer.FirstRowArea + uint32(t.roots.parts+part)
	return cluster.Area{From: rank, To: t.RankOf[part], Number: number, Bytes: answerHeader + t.answerBytes(part)}
}

// open begins to ask and to answer. What steps read lies in the stages. In a simulation all rows lie here, and only their times cross the network.
func (t *rows) open() {
	if net, simulated := machineOf(t.o.Ranks); simulated {
		for _, w := range t.workers {
			w.fetcher.across = t.newCrossing(net, w)
		}
		return
	}
	me := t.o.Ranks.Rank()
	for part := range t.roots.parts {
		if t.RankOf[part] != me {
			a := &answerer{net: t.net, hub: t.Hub, part: part, hear: t.requests(part, me), say: t.answers(part, me), pack: t.pack,
				books: books{home: t.o.Part, own: t.own(), size: t.size, most: t.answerBytes(part)}}
			a.open()
			t.answering.Go(a.run) // ends with the hub; Close waits
			continue
		}
		askers := make([]*asker, t.o.Ranks.Ranks())
		for rank := range askers {
			if rank != me {
				askers[rank] = &asker{net: t.net, hub: t.Hub, part: part, ask: t.requests(part, rank), hear: t.answers(part, rank)}
				askers[rank].open()
			}
		}
		t.askers = append(t.askers, askers)
		w := t.workers[part-t.own().Lo]
		if w.fetcher == nil { // isolated parts read rows of the whole data set, which every rank has
			continue
		}
		w.fetcher.service = &far{w.fetcher.service, &w.stage, t.RankOf, askers}
	}
}

func (t *rows) close() {
	for _, askers := range t.askers {
		for _, a := range askers {
			if a != nil {
				a.close()
			}
		}
	}
}

// size returns the bytes of a row, and false if there is no such table now.
func (t *rows) size(table, v int) (int, bool) {
	if table == featureTable {
		return t.workers[0].stage.rowSize(graph.NodeID(v)), true
	}
	x := t.tables[table%2].Load()
	if x == nil || tableOf(x.layer) != table {
		return 0, false
	}
	return x.Row, true
}

func (t *rows) pack(table int, dst []byte, v graph.NodeID) int {
	if table == featureTable {
		return t.workers[0].stage.packRow(dst, v)
	}
	return t.tables[table%2].Load().pack(dst, v)
}

// complete is layered.Options.Complete. All ranks have their rows of a layer before any asks for others; those of the layer before stay until all have them.
func (t *rows) complete(h *meet.Hub, layer int, table *layered.Table) error {
	t.tables[tableOf(layer)%2].Store(&layerTable{layer, table})
	if err := t.Talk().Together(h.Context(), trainer.TagLayer); err != nil {
		return err
	}
	defer t.Waiting(trainer.TagLayer)()
	came := make([]event, t.roots.parts)
	for part := range came {
		if ids, mem := table.Others(part); len(ids) > 0 {
			came[part] = t.askers[0][t.RankOf[part]].want(tableOf(layer), part, ids, func(graph.NodeID) int { return table.Row }, func(_, offset int, rows []byte) { copy(mem[offset:], rows) })
		}
	}
	return meet.Guard(func() {
		for part := range came {
			if came[part] != nil {
				meet.Receive(h, came[part].Done(), t.own().Lo, part, fmt.Sprintf("rows of layer %d", layer))
			}
		}
	})
}
