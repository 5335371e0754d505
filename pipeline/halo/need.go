package halo

import (
	"capgnn/gpu"
)

// What exchanges take of a device's memory besides local slots, at most: known before rows have slots, so that caches can take
// what is left.

// freeForCaches returns what the device of each part of this process has left for its local slots.
func (c *Config) freeForCaches() []gpu.Bytes {
	free := make([]gpu.Bytes, len(c.Ends))
	plain := exactTraffic(c, nil, scope{})
	evaluation := evaluationTraffic(c, c.Model.Layers, scope{})
	var beyond []*traffic // rows that cross have send buffers of their own: at most all do
	if c.Net != nil && c.Net.Ranks() > 1 {
		beyond = exactTraffic(c, nil, scope{across: true})
		for k, l := range beyond { // halo rows lie in one matrix
			plain[k].pipelined = plain[k].pipelined || l.pipelined
		}
	}
	for k, e := range c.Ends {
		i := e.Part
		sharing := 0
		for _, same := range e.Peers {
			if same {
				sharing++
			}
		}
		need := exchangeNeed(plain, evaluation, i) + remapNeed(c.Cuts, plain, i)
		if beyond != nil {
			need += transitNeed(beyond, evaluation, i)
		}
		if !c.Model.Attends() { // sums read edge weights as vectors, which go with the rows of the halo matrix
			need += scaleNeed(plain, i)
		}
		m := e.Device.Memory()
		free[k] = max(0, (m.Budget-m.Used)/gpu.Bytes(sharing)-need)
	}
	return free
}

// exchangeNeed returns what exchanges take without local slots: send buffers and lists, halo rows, and where they arrive.
func exchangeNeed(training, evaluation []*traffic, part int) gpu.Bytes {
	var kept, halo, lists gpu.Bytes
	lag := false
	for _, l := range training {
		lag = lag || l.pipelined
		ids := len(l.readers[part].ids)
		lists += 4 * gpu.Bytes(2*ids) // in reserve
		if halo = max(halo, l.rowBytes(ids+1)); l.keeps {
			kept += l.rowBytes(ids)
		}
	}
	for _, l := range evaluation {
		halo = max(halo, l.rowBytes(len(l.readers[part].ids)+1))
	}
	need := kept + halo + lists + transitNeed(training, evaluation, part)
	if lag {
		need += halo
	}
	return need
}

// transitNeed returns what rows take on their way: send buffers and listsand where they arrive.
func transitNeed(training, evaluation []*traffic, part int) gpu.Bytes {
	var send, own, lists gpu.Bytes
	lag := false
	for _, l := range training {
		all, _ := l.sendRows(part)
		lag = lag || l.pipelined
		wire := l.wireRow() * gpu.Bytes(all)
		send = max(send, wire)
		own += wire
		lists += listNeed(l, all)
	}
	for _, l := range evaluation {
		all, _ := l.sendRows(part)
		send = max(send, l.rowBytes(all))
		lists += listNeed(l, all)
	}
	need := send + lists + landingNeed(training, part) + blockNeed*gpu.Bytes(len(training)+len(evaluation)+1)
	if lag {
		need += own
	}
	return need
}

// blockNeed is what the ends of an exchange's blocks take, of which there are ten or less: devices round their sizes up, and slots
// are aligned.
const blockNeed = 16 * slotAlign

// listNeed returns what the list of the rows that a part sends takes, and of their vertices where these are drawn by.
func listNeed(l *traffic, rows int) gpu.Bytes {
	n := 4 * gpu.Bytes(rows)
	if l.coding.packed() {
		for i := range l.readers {
			n += 4 * gpu.Bytes(len(l.readers[i].ids))
		}
	}
	return n
}

// remapNeed returns what the index arrays take that address slots.
func remapNeed(cuts Cuts, exchanges []*traffic, part int) gpu.Bytes {
	n := 0
	for _, l := range exchanges {
		cut := cuts.At(l.Layer)
		if p := cut.Parts[part]; l.returned { // sums over what is returned, and the halo rows' edges turned around
			n += 2*(len(p.Inner)+1) + len(l.readers[part].ids) + 2*(len(p.In.IDs)+1) + len(p.In.Halo.Indices)
		} else {
			n += len(l.readBlocks(cut)[part].Halo.Indices)
		}
	}
	return 4 * gpu.Bytes(n)
}

// scaleNeed returns what scales of halo rows take. They span, in rows of the exchange, its local slots and those of exchanges
// with narrower rows, which follow, then transient rows, its own or with the pipeline also those of the other turn.
func scaleNeed(exchanges []*traffic, part int) gpu.Bytes {
	var need, halo gpu.Bytes
	for _, l := range exchanges {
		halo = max(halo, l.rowBytes(len(l.readers[part].ids)+1))
	}
	for _, l := range exchanges {
		if l.Layer == 0 {
			continue
		}
		span := l.rowBytes(len(l.readers[part].ids) + 2)
		if l.pipelined {
			span += halo
		}
		for _, o := range exchanges {
			if o != l && o.rowBytes(1) <= l.rowBytes(1) {
				span += o.rowBytes(len(o.readers[part].ids)) + slotAlign
			}
		}
		need += 4 * (span/l.rowBytes(1) + 1)
	}
	return need
}
