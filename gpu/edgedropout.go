package gpu

// EdgeDropout says which weights of attention are dropped. With u and v the original ids of an edge's source and
// target,
// that of head h is kept if word h mod 4 of Philox(counter (u, v, EdgeStream(Layer, h), Epoch), key Seed) is at least
// ⌊P·2³²⌋, and is then multiplied by 1/(1-P). m_uv is this factor, or 0. Edges that are listed several times have one
// m_uv.
// P = 0: every m_uv is 1, and nothing is drawn.
type EdgeDropout struct {
	P           float64
	Seed        uint64
	Layer       uint32 // below 2²⁰
	Epoch       uint32
	Rows        Ints // original vertex id of each row of the blocks of entries
	Inner, Halo Ints // original vertex id of each column of Inner, or A, and of Halo
}

// MaxDropHeads is how many heads attention may have that drops weights.
const MaxDropHeads = 4 << 11

// EdgeStream returns the third number of the counter of weights of heads: 2³¹ + 2¹¹·layer + ⌊head/4⌋.
func EdgeStream(layer uint32, head int) uint32 { return 1<<31 | layer<<11 | uint32(head/4) }
