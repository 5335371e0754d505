package minibatch

import (
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/machines"
	"capgnn/internal/together"
	"capgnn/internal/trainer"
)

// crossing is the way of rows from other machines to a part in a simulation. They lie in this process; requests and answers take virtual time, in as many messages as asker and answerer
// would send. An answer leaves when its request has come and the one before has arrived, as both come to one area.
type crossing struct {
	net           machines.Machine
	part          int
	rankOf        []int // of every part
	ask, hear     uint32
	most          int                      // bytes of the rows of an answer
	size          func(v graph.NodeID) int // of a row
	last          []gpu.Event              // by rank: its answer before; nil: there was none
	asked, answer []gpu.Bytes              // by rank: what went there, and came from there, so far
}

func (t *rows) newCrossing(net machines.Machine, w *worker) *crossing {
	n, parts := net.Ranks(), t.roots.parts
	return &crossing{net: net, part: w.Index, rankOf: t.RankOf, ask: trainer.FirstRowArea + uint32(w.Index), hear: trainer.FirstRowArea + uint32(parts+w.Index), most: t.answerBytes(w.Index),
		size: w.stage.rowSize, last: make([]gpu.Event, n), asked: make([]gpu.Bytes, n), answer: make([]gpu.Bytes, n)}
}

// bring asks for rows of a part of another machine once an event has fired, and returns the event of the last answer.
func (c *crossing) bring(owner int, ids []graph.NodeID, after gpu.Event) gpu.Event {
	me, rank := c.net.Rank(), c.rankOf[owner]
	for len(ids) > 0 {
		n, bytes := portion(ids, c.size, c.most)
		request, answer := gpu.Bytes(requestHeader+4*n), gpu.Bytes(answerHeader+bytes)
		came := []gpu.Event{c.net.Carry(me, rank, c.ask, request, after)}
		if c.last[rank] != nil {
			came = append(came, c.last[rank])
		}
		c.last[rank] = c.net.Carry(rank, me, c.hear, answer, came...)
		c.asked[rank], c.answer[rank] = c.asked[rank]+request, c.answer[rank]+answer
		ids = ids[n:]
	}
	return c.last[rank]
}

// charge has the part's queue wait for what a turn fetches of other machines. Rounds follow each other as in fetcher.collect.
func (c *crossing) charge(f *fetcher, x *fetching, q gpu.Queue) {
	var ids []graph.NodeID
	for from := 0; from < len(x.order); {
		to, begins := f.round(x, from), q.Record()
		var came []gpu.Event
		for from < to {
			owner := f.g.home[x.fetched(from).ID]
			ids = ids[:0]
			for ; from < to && f.g.home[x.fetched(from).ID] == owner; from++ {
				ids = append(ids, x.fetched(from).ID)
			}
			if c.rankOf[owner] != c.net.Rank() {
				came = append(came, c.bring(int(owner), ids, begins))
			}
		}
		for _, ev := range came {
			q.Wait(ev)
		}
	}
}

// machineOf returns the simulated machine that ranks are; false: they are none.
func machineOf(r together.Ranks) (machines.Machine, bool) {
	m, ok := r.(machines.Machine)
	return m, ok
}
