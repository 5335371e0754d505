package multilevel

import "math"

// prices estimate what it costs to bring parts that exceed their bounds back under them.
type prices struct {
	kinds int
	// below[(p·kinds+c)·lossBuckets+b] is the weight in constraint c of those vertices of part p whose loss per weight is in bucket b
	// or a lower one, when the prices were made.
	below []int64
	at    []int32   // per part and constraint: the bucket of the vertex that would leave next
	rate  []float64 // and its loss per unit of weight, times factor
	// factor below 1 makes excess cheaper than it is.
	factor float64
}

// inner is the share of its edges that a vertex must have inside its part to count among those that could leave: others are about
// to be moved anyway.
const inner = 0.7

// unitBucket is the bucket of a loss of 1 per unit of weight; there are two buckets per doubling.
const unitBucket = 32

// lossBucket returns the bucket of a loss per unit of weight.
func lossBucket(ratio float64) int {
	if ratio <= 0 {
		return 0
	}
	return min(lossBuckets-1, max(1, unitBucket+int(math.Floor(2*math.Log2(ratio)))))
}

// lossRates are the losses per unit of weight that buckets stand for.
var lossRates = func() (r [lossBuckets]float64) {
	for b := 1; b < lossBuckets; b++ {
		r[b] = math.Exp2((float64(b-unitBucket) + 0.5) / 2)
	}
	return r
}()

// appraise makes the prices of s, which must have a table.
func (x *prices) appraise(s *state, factor float64) {
	size := len(s.load)
	x.kinds, x.factor = s.lim.kinds, factor
	if len(x.at) != size {
		x.below, x.at, x.rate = make([]int64, size*lossBuckets), make([]int32, size), make([]float64, size)
	}
	clear(x.below)
	clear(x.at)
	for v := range int32(s.g.n) {
		x.count(s, v)
	}
	for i := range size {
		row := x.below[i*lossBuckets : (i+1)*lossBuckets]
		for b := 1; b < lossBuckets; b++ {
			row[b] += row[b-1]
		}
		x.update(s, i)
	}
}

// count adds v to the vertices that could leave its part.
func (x *prices) count(s *state, v int32) {
	own := int(s.part[v])
	near := s.near[int(v)*s.k : (int(v)+1)*s.k]
	other := int32(0)
	if s.border[v] != 0 {
		if float64(near[own]) < inner*float64(s.g.strength(v)) {
			return
		}
		adj, count := s.around(v)
		for i := range count {
			if p := int(s.at(adj, i)); p != own {
				other = max(other, near[p])
			}
		}
	}
	for c := range x.kinds {
		if w := s.g.of(c, v); w > 0 {
			x.below[(own*x.kinds+c)*lossBuckets+lossBucket(float64(near[own]-other)/float64(w))] += w
		}
	}
}

// update brings the rate of part and constraint i up to date with its load.
func (x *prices) update(s *state, i int) {
	over := max(0, s.load[i]-s.lim.bound[i])
	row := x.below[i*lossBuckets : (i+1)*lossBuckets]
	b := int(x.at[i])
	for b > 0 && row[b-1] > over {
		b--
	}
	for row[b] <= over && row[b] < row[lossBuckets-1] {
		b++
	}
	x.at[i], x.rate[i] = int32(b), x.factor*lossRates[b]
}

// moved says that a vertex went between these parts.
func (x *prices) moved(s *state, from, to int32) {
	for c := range x.kinds {
		x.update(s, int(from)*x.kinds+c)
		x.update(s, int(to)*x.kinds+c)
	}
}

// enter returns the price of v going to part p.
func (x *prices) enter(s *state, v, p int32) float64 {
	sum := 0.0
	for c := range x.kinds {
		i := int(p)*x.kinds + c
		w := s.g.of(c, v)
		if over := s.load[i] + w - s.lim.bound[i]; over > 0 {
			sum += float64(min(over, w)) * x.rate[i]
		}
	}
	return sum
}

// leave returns the price that is saved when v leaves its part.
func (x *prices) leave(s *state, v int32) float64 {
	sum := 0.0
	for c := range x.kinds {
		i := int(s.part[v])*x.kinds + c
		if over := s.load[i] - s.lim.bound[i]; over > 0 {
			sum += float64(min(over, s.g.of(c, v))) * x.rate[i]
		}
	}
	return sum
}

// best returns the part to which v should go and by how much the cut and the prices fall then; -1 = there is none. Only parts with
// edges of v count. Ties go to the sooner part.
func (x *prices) best(s *state, v int32) (to int32, gain int64) {
	own := s.part[v]
	if s.count[own] <= 1 {
		return -1, 0
	}
	near := s.near[int(v)*s.k : (int(v)+1)*s.k]
	if s.k == 2 {
		w := near[1-own]
		if w == 0 {
			return -1, 0
		}
		return 1 - own, int64(math.Floor(float64(w)-x.enter(s, v, 1-own)+x.leave(s, v))) - int64(near[own])
	}
	to = -1
	most := 0.0
	adj, count := s.around(v)
	for i := range count {
		p := s.at(adj, i)
		w := near[p]
		if w == 0 || p == own || p == to || to >= 0 && float64(w) < most {
			continue
		}
		worth := float64(w) - x.enter(s, v, p)
		if to < 0 || worth > most || worth == most && s.sooner(p, to) {
			to, most = p, worth
		}
	}
	if to < 0 {
		return -1, 0
	}
	return to, int64(math.Floor(most+x.leave(s, v))) - int64(near[own])
}
