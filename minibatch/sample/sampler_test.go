package sample

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"capgnn/gpu"
	"capgnn/graph"
)

// kept returns what each vertex keeps at each hop, by id.
func kept(st *Stack) map[[2]int32][]graph.NodeID {
	out := map[[2]int32][]graph.NodeID{}
	for h := range st.Blocks {
		b := &st.Blocks[h]
		for r := range b.Rows {
			row := []graph.NodeID{}
			for _, c := range b.Indices[b.Begin[r]:b.Begin[r+1]] {
				row = append(row, st.IDs[c])
			}
			out[[2]int32{int32(h), st.IDs[r]}] = row
		}
	}
	return out
}

// TestGrouping: a vertex keeps the same neighbours whatever other roots its step has.
func TestGrouping(t *testing.T) {
	for name, g := range graphs(t) {
		for _, fanout := range fanouts {
			s := New(Topology{Graph: g, Loops: graph.LoopsAdded}, Rules{Seed: 2, Fanout: fanout})
			var whole, share Stack
			roots := rootsOf(g.Rows())[2]
			s.Draw(&whole, 3, roots)
			want := kept(&whole)
			for lo := 0; lo < len(roots); lo += 37 {
				s.Draw(&share, 3, roots[lo:min(lo+37, len(roots))])
				for at, row := range kept(&share) {
					if !slices.Equal(row, want[at]) {
						t.Fatalf("%s, fan-out %d: hop %d of vertex %d is %d in a share, %d in the whole", name, fanout, at[0], at[1], row, want[at])
					}
				}
			}
		}
	}
}

// TestSamplers: stacks are equal whoever draws them, whatever was drawn before, and into whichever memory.
func TestSamplers(t *testing.T) {
	const count = 40
	for name, g := range graphs(t) {
		topology, rules := Topology{Graph: g, Loops: graph.LoopsRemoved}, Rules{Seed: 11, Fanout: []int{7, 5, 3}}
		order := Order(rootsOf(g.Rows())[2], 11, 0, nil)
		roots := func(step int) []graph.NodeID { return order[:(step*13+1)%len(order)] }
		want := make([]Stack, count)
		for step := range want {
			New(topology, rules).Draw(&want[step], uint32(step), roots(step))
		}
		for _, samplers := range []int{1, 2, 3} {
			shuffled := rand.New(rand.NewPCG(uint64(samplers), 0)).Perm(count)
			var wait sync.WaitGroup
			for i := range samplers {
				wait.Go(func() {
					s := New(topology, rules)
					var st Stack
					for k := i; k < count; k += samplers {
						step := shuffled[k]
						s.Draw(&st, uint32(step), roots(step))
						if err := difference(&st, &want[step]); err != nil {
							t.Errorf("%s, %d samplers, step %d: %v", name, samplers, step, err)
						}
					}
				})
			}
			wait.Wait()
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	for name, g := range graphs(t) {
		for _, memory := range []int64{0, 1} {
			s := New(Topology{Graph: g, Loops: graph.LoopsAdded, Memory: memory}, Rules{Seed: 2, Fanout: []int{20, 600, All}})
			var st Stack
			var into Block
			roots := rootsOf(g.Rows())
			step := 0
			draw := func() {
				s.Draw(&st, uint32(step), roots[step%len(roots)])
				for h := range st.Blocks {
					st.Blocks[h].Transpose(&into)
				}
				step = (step + 1) % 12
			}
			for range 12 {
				draw()
			}
			if n := testing.AllocsPerRun(24, draw); n > 0 {
				t.Errorf("%s, memory %d: a step allocates %v times", name, memory, n)
			}
		}
	}
}

func TestOrder(t *testing.T) {
	train := []graph.NodeID{}
	for v := range graph.NodeID(5000) {
		train = append(train, v*3)
	}
	const seed, epoch = 5<<32 | 6, 3
	word := func(v graph.NodeID) uint32 {
		return gpu.Philox([4]uint32{0, uint32(v), 0x5B000000, epoch}, [2]uint32{6, 5})[0]
	}
	got := Order(train, seed, epoch, nil)
	for i := 1; i < len(got); i++ {
		if a, b := word(got[i-1]), word(got[i]); a > b || a == b && got[i-1] >= got[i] {
			t.Fatalf("root %d (word %d) stands before %d (word %d)", got[i-1], a, got[i], b)
		}
	}
	if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, train) {
		t.Fatal("not every training vertex is a root once")
	}
	backwards := slices.Clone(train)
	slices.Reverse(backwards)
	if !slices.Equal(Order(backwards, seed, epoch, make([]graph.NodeID, 9000)), got) {
		t.Error("the order depends on the list's or on the memory given")
	}
	if slices.Equal(Order(train, seed, epoch+1, nil), got) || slices.Equal(Order(train, seed+1, epoch, nil), got) {
		t.Error("epochs, or seeds, have the same order")
	}
	if n := len(Order(nil, seed, epoch, nil)); n != 0 {
		t.Errorf("%d roots of none", n)
	}
}

// TestTies: 200,000 vertices have words in common, and those stand by id.
func TestTies(t *testing.T) {
	train := make([]graph.NodeID, 200_000)
	for v := range train {
		train[v] = graph.NodeID(len(train) - 1 - v)
	}
	ties := 0
	order, key := Order(train, 1, 0, nil), gpu.SeedKey(1)
	for i := 1; i < len(order); i++ {
		a := gpu.Philox([4]uint32{0, uint32(order[i-1]), orderStream, 0}, key)[0]
		if b := gpu.Philox([4]uint32{0, uint32(order[i]), orderStream, 0}, key)[0]; a == b {
			ties++
			if order[i-1] > order[i] {
				t.Errorf("%d stands before %d with the same word", order[i-1], order[i])
			}
		}
	}
	if ties == 0 {
		t.Fatal("no tie was tested")
	}
}

func TestMistakesPanic(t *testing.T) {
	g := graphs(t)["clique"]
	for name, f := range map[string]func(){
		"fan-out 0":       func() { New(Topology{Graph: g}, Rules{Fanout: []int{3, 0}}) },
		"a root twice":    func() { New(Topology{Graph: g}, Rules{}).Draw(&Stack{}, 0, []graph.NodeID{4, 5, 4}) },
		"a root too high": func() { New(Topology{Graph: g}, Rules{Fanout: []int{1}}).Draw(&Stack{}, 0, []graph.NodeID{61}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is not refused", name)
				}
			}()
			f()
		}()
	}
}

// FuzzDraw draws from a graph, roots and rules made of bytes, beside the twin.
func FuzzDraw(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 1, 2, 5, 5}, []byte{0, 3}, []byte{1, 2, 0}, uint64(1), uint32(0), byte(0))
	f.Add([]byte{7, 7}, []byte{7}, []byte{9}, uint64(1)<<63, uint32(1)<<31, byte(7))
	f.Fuzz(func(t *testing.T, edges, roots, fanout []byte, seed uint64, step uint32, how byte) {
		var list []graph.Edge
		for i := 0; i+1 < len(edges); i += 2 {
			list = append(list, graph.Edge{From: graph.NodeID(edges[i]), To: graph.NodeID(edges[i+1] % 16)})
		}
		g, err := graph.FromEdges(256, list)
		if err != nil {
			t.Fatal(err)
		}
		var distinct []graph.NodeID
		for _, v := range roots {
			if !slices.Contains(distinct, graph.NodeID(v)) {
				distinct = append(distinct, graph.NodeID(v))
			}
		}
		rules := Rules{Seed: seed, AddLoops: how&8 != 0}
		for _, k := range fanout[:min(len(fanout), 5)] {
			rules.Fanout = append(rules.Fanout, int(k))
			if k == 0 {
				rules.Fanout[len(rules.Fanout)-1] = All
			}
		}
		topology := Topology{Graph: g, Loops: graph.Loops(how % 3), Memory: int64(how&16) * 8}
		var st Stack
		s := New(topology, rules)
		for range 2 { // the second time in memory that holds the first
			s.Draw(&st, step, distinct)
			if err := difference(&st, (twin{t: topology, r: rules}).draw(step, distinct)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestStamps: stacks are right when stamps run out and are used again.
func TestStamps(t *testing.T) {
	for name, g := range graphs(t) {
		topology, rules := Topology{Graph: g}, Rules{Seed: 5, Fanout: []int{4, 3}}
		s := New(topology, rules)
		x := s.index.(*slots)
		x.shift, x.last, x.stamp = 30, 3, 3 // all that two bits hold
		var st Stack
		for step, roots := range slices.Concat(rootsOf(g.Rows()), rootsOf(g.Rows())) {
			s.Draw(&st, uint32(step), roots)
			if err := difference(&st, (twin{t: topology, r: rules}).draw(uint32(step), roots)); err != nil {
				t.Fatalf("%s, step %d: %v", name, step, err)
			}
		}
	}
}
