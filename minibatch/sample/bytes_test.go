package sample

import (
	"testing"
	"unsafe"

	"capgnn/graph"
)

// What a sampler holds is within what Bytes says, with numbers for all vertices and with a hash table.
func TestBytes(t *testing.T) {
	for name, g := range graphs(t) {
		for _, fanout := range fanouts {
			for _, memory := range []int64{0, 1} {
				top := Topology{Graph: g, Loops: graph.LoopsRemoved, Memory: memory}
				for _, ladies := range []int{0, 20} {
					rules := Rules{Seed: 3, Fanout: fanout, Ladies: ladies}
					s, ids, entries, candidates := New(top, rules), 0, 0, 0
					for step, roots := range rootsOf(g.Rows()) {
						var st Stack
						s.Draw(&st, uint32(step), roots)
						ids, candidates = max(ids, len(st.IDs)), max(candidates, st.Candidates)
						for i := range st.Blocks {
							entries = max(entries, len(st.Blocks[i].Indices))
						}
					}
					took := held(s.ids) + held(s.rows) + held(s.words) + held(s.at) + held(s.list) + held(s.cols) + held(s.loops.known) + held(s.choice.set) + held(s.choice.list)
					took += held(s.ladies.p) + held(s.ladies.arrive) + held(s.ladies.order) + held(s.ladies.number)
					switch x := s.index.(type) {
					case *slots:
						took += held(x.slot) + held(x.open)
					case *table:
						took += held(x.cells)
					}
					if bound := Bytes(top, rules, ids, entries, candidates); took > bound || took < (bound-chunk*(rowBytes+4*ahead)-1024)/4 && ladies == 0 {
						t.Errorf("%s, fan-out %v, ladies %d, memory %d: %d bytes, bound %d", name, fanout, ladies, memory, took, bound)
					}
				}
			}
		}
	}
}

func held[T any](s []T) int64 { return int64(cap(s)) * int64(unsafe.Sizeof(*new(T))) }

func TestRowBytes(t *testing.T) {
	if n := unsafe.Sizeof(row{}); n != rowBytes {
		t.Errorf("%d, want %d", n, rowBytes)
	}
}
