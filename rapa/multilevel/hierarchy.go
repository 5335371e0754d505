package multilevel

const (
	// coarsePerPart and coarseLeast say when coarsening stops. With 240 vertices in all instead of 1,000 cuts were 1 % higher,
	// with 200 per part 3 %.
	coarsePerPart, coarseLeast = 60, 1000
	// heaviest bounds a cluster, in units of the mean vertex of the coarsest level.
	heaviest = 1.5
	// shrink is the factor between two levels at most, largeShrink on inputs of more than largeEdges stored edges, for memory: the
	// second level of products-like has 28 M edges instead of 80 M.
	shrink, largeShrink, largeEdges = 4, 8, 8_000_000
	// climbEdges is the size of a level, in stored edges, up to which it is refined vertex by vertex: more takes one thread too long.
	climbEdges = 2_000_000
	// thoroughShare says which levels are refined thoroughly in any case: those of so small a share of the input's edges.
	thoroughShare = 64
)

// coarsen returns g and coarser and coarser graphs, the last with `target` vertices to half as many again, or more where it does not
// shrink.
func (c *crew) coarsen(g *level, within []int32, target int, shrink float64, salt uint64, tallies []*tally) []*level {
	levels := []*level{g}
	limit := g.total()
	for i := range limit {
		limit[i] = max(1, int64(heaviest*float64(limit[i])/float64(target)))
	}
	for g.n > target+target/2 {
		least := max(target, int(float64(g.n)/shrink))
		label, n := c.cluster(g, within, limit, least, mix(salt+uint64(len(levels))), tallies)
		if c.err() != nil || n*20 > g.n*19 {
			break
		}
		compact(label)
		next := c.contract(g, label, n, tallies)
		if c.err() != nil {
			break
		}
		if within != nil {
			w := make([]int32, n)
			for v, a := range label {
				w[a] = within[v]
			}
			within = w
		}
		g.coarse = label
		g = next
		levels = append(levels, g)
	}
	return levels
}

// shrink returns the factor between two levels.
func (d *driver) shrink() float64 {
	if d.edges > largeEdges {
		return largeShrink
	}
	return shrink
}

// coarsest returns the number of vertices at which coarsening stops.
func coarsest(parts int) int { return max(coarsePerPart*parts, coarseLeast) }

// uncoarsen refines part from the last of levels to the first, or only to the second if the attempt stays unfinished
// (draft); alone is that of attempt.
func (l *lane) uncoarsen(levels []*level, part []int32, alone, draft bool, salt uint64) attempt {
	d := l.d
	defer func() { l.border = l.border[:0] }()
	var s *state
	for i := len(levels) - 1; i >= 0; i-- {
		if i == 0 && draft && s != nil {
			return attempt{project(levels[0].coarse, s.part), s.over(), l.cost(s), alone}
		}
		g, coarser := levels[i], s
		if coarser != nil {
			part = project(g.coarse, coarser.part)
		}
		s = l.newState(g, d.goal.lim, part)
		l.tabulate(s, l.border, &l.climber.table)
		g.coarse = nil
		if coarser != nil {
			levels[i+1] = nil
		}
		d.progress.at(0.4+0.6/float64(int(1)<<(i+1)), l.first)
		l.refine(s, i, alone, mix(salt+uint64(i)))
		if l.err() != nil {
			return attempt{}
		}
		l.border = append(l.border[:0], s.border...)
	}
	return attempt{s.part, s.over(), l.cost(s), alone}
}

// cost returns what the objective asks to be little of.
func (l *lane) cost(s *state) int64 {
	if l.d.o.Objective == Volume {
		return l.volume(s)
	}
	return l.cutOf(s)
}

// refine improves s, a partition of level number `at`; alone is that of attempt.
func (l *lane) refine(s *state, at int, alone bool, salt uint64) {
	if at == 0 {
		s.populate()
	}
	d, f := l.d, &l.climber
	f.rebalance(l.crew, s)
	if alone && s.near != nil {
		f.climbVolume(l.crew, s)
		return
	}
	l.sweeper.sweep(l.crew, s, f)
	if s.near == nil {
		return
	}
	if small := d.edges <= laneEdges || s.g.edges()*thoroughShare <= d.edges; small && s.g.edges() <= climbEdges {
		f.searchPastBounds(l.crew, s, mix(salt))
	}
	if s.g.edges() <= climbEdges {
		if d.o.Effort > 1 || s.g.edges()*thoroughShare <= d.edges {
			f.climb(l.crew, s, thorough, salt)
		} else {
			f.climb(l.crew, s, quick(s.g.n), salt)
		}
	}
	if d.o.Objective == Volume && at == 0 {
		f.climbVolume(l.crew, s)
	}
}
