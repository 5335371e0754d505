package synth

import (
	"math/bits"
	"math/rand/v2"

	"capgnn/graph"
)

// nest is the drawn state of a nested block model. Members are grouped by community and communities by class, so that
// each is a range.
type nest struct {
	class    []int32        // class of each vertex
	member   []graph.NodeID // vertices by community
	inGroup  []int32        // community of each position of member
	first    []int          // positions of community k in member: first[k] to first[k+1]
	classOf  []int32        // class of each community
	firstOf  []int          // communities of class c: firstOf[c] to firstOf[c+1]
	vertices alias          // a member of a community, by weight; one table per community
	peers    alias          // a community of a class, by weight; one table per class
	all      alias          // a community, by weight
	own, kin uint64         // thresholds of the second end: own community; own community or class
}

func newNest(s Nested) *nest {
	r := rand.New(stream(s.Seed, streamVertices, 0))
	n, k := s.Vertices, max(s.Classes, s.Vertices/s.Community)
	m := &nest{
		class: make([]int32, n), member: make([]graph.NodeID, n), inGroup: make([]int32, n), first: make([]int, k+1),
		own: threshold(s.InCommunity), kin: threshold(s.InCommunity + s.InClass),
	}
	m.classOf, m.firstOf = deal(k, s.Classes)
	for i := range m.member {
		m.member[i] = graph.NodeID(i)
	}
	r.Shuffle(n, func(i, j int) { m.member[i], m.member[j] = m.member[j], m.member[i] })
	weight, sum := make([]uint64, n), make([]uint64, k)
	tail := threshold(s.Tail)
	for b := range k {
		m.first[b+1] = int(int64(n) * int64(b+1) / int64(k))
		for i := m.first[b]; i < m.first[b+1]; i++ {
			m.inGroup[i], m.class[m.member[i]] = int32(b), m.classOf[b]
			octave := 0
			for octave < s.Octaves && uint64(r.Uint32()) < tail {
				octave++
			}
			base := uint64(8) << octave
			weight[i] = base + r.Uint64N(base)
			sum[b] += weight[i]
		}
	}
	m.vertices, m.peers, m.all = newAlias(n), newAlias(k), newAlias(k)
	for b := range k {
		m.vertices.fill(m.first[b], weight[m.first[b]:m.first[b+1]])
	}
	for c := range s.Classes {
		m.peers.fill(m.firstOf[c], sum[m.firstOf[c]:m.firstOf[c+1]])
	}
	m.all.fill(0, sum)
	return m
}

// Members returns the vertices grouped by community: an order in which the rows of a community lie together, as tests of
// vertex orders compare with. They are those of the graph that Communities draws.
func (s Nested) Members() []graph.NodeID { return newNest(s).member }

// deal gives each of k communities, k ≥ classes, a class: one to every class, the others by shares that fall as
// 1/(c + classes/4 + 1), so that the first class has about five times as many as the last.
func deal(k, classes int) (classOf []int32, firstOf []int) {
	const unit = 1 << 32
	total := uint64(0)
	upTo := make([]uint64, classes+1)
	for c := range classes {
		total += unit / uint64(c+classes/4+1)
		upTo[c+1] = total
	}
	firstOf = make([]int, classes+1)
	for c := range classes {
		hi, lo := bits.Mul64(uint64(k-classes), upTo[c+1])
		share, _ := bits.Div64(hi, lo, total)
		firstOf[c+1] = c + 1 + int(share)
		for range firstOf[c+1] - firstOf[c] {
			classOf = append(classOf, int32(c))
		}
	}
	return classOf, firstOf
}

// pair draws the two ends of an edge.
func (m *nest) pair(r *rand.PCG) (u, v graph.NodeID) {
	k := m.all.draw(r, 0, len(m.classOf))
	u = m.member[m.vertices.draw(r, m.first[k], m.first[k+1])]
	switch x := r.Uint64() >> 32; {
	case x < m.own:
	case x < m.kin:
		c := m.classOf[k]
		k = m.peers.draw(r, m.firstOf[c], m.firstOf[c+1])
	default:
		k = m.all.draw(r, 0, len(m.classOf))
	}
	return u, m.member[m.vertices.draw(r, m.first[k], m.first[k+1])]
}

// alias holds Vose's tables for drawing by weight in constant time, each in a range of its own: place i keeps a draw with
// probability keep[i]/2³², else hands it to other[i].
type alias struct {
	keep  []uint32
	other []int32
}

func newAlias(n int) alias { return alias{make([]uint32, n), make([]int32, n)} }

// fill makes the table of places lo to lo+len(weight). A weight is at least 1, their sum under 2⁶³/len. Probabilities are
// exact to 2⁻³².
func (a alias) fill(lo int, weight []uint64) {
	n := uint64(len(weight))
	total := uint64(0)
	for _, w := range weight {
		total += w
	}
	left := make([]uint64, n) // weight times n: total is the share of one place
	var small, large []int
	for i, w := range weight {
		left[i] = w * n
		a.other[lo+i] = int32(lo + i)
		a.keep[lo+i] = 1<<32 - 1
		if left[i] < total {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		hi, lo64 := bits.Mul64(left[s], 1<<32)
		keep, _ := bits.Div64(hi, lo64, total)
		a.keep[lo+s], a.other[lo+s] = uint32(keep), int32(lo+l)
		if left[l] -= total - left[s]; left[l] < total {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
}

// draw returns a place of the table that fills lo to hi, from one random word: its upper half chooses the place, with a
// bias of at most (hi-lo)/2³², its lower half whether it is kept.
func (a alias) draw(r *rand.PCG, lo, hi int) int {
	x := r.Uint64()
	i := lo + int((x>>32)*uint64(hi-lo)>>32)
	if uint32(x) <= a.keep[i] {
		return i
	}
	return int(a.other[i])
}
