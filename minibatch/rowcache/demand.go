package rowcache

import "capgnn/graph"

// demand fetches every row that a step reads, and keeps none.
type demand struct{ clock }

func (p *demand) Decide(s Step, d *Decision) {
	p.take(s.Number)
	d.reset(len(s.Rows))
	for i, v := range s.Rows {
		d.fetch(i, v, -1)
	}
}

func (p *demand) Held() []graph.NodeID { return nil }

func (p *demand) Save() []byte { return newState(Demand, p.clock, nil).bytes }

func (p *demand) Restore(state []byte) error {
	s, c, err := readState(state, Demand, nil, 0)
	if err == nil {
		err = s.end()
	}
	if err == nil {
		p.clock = c
	}
	return err
}
