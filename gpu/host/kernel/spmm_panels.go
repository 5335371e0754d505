package kernel

import (
	"unsafe"

	"capgnn/gpu/host/workers"
)

// When x is much larger than the cache and its rows are used many times, but far apart, most of them come from memory each
// time. A panel of a few columns is a smaller x: more of its rows stay. Measured with 28.7 million entries on 233,000 rows of
// 256 columns, ids at random, 32 MiB of L3: 1.2 to 1.3 times as fast, the copies included; with ids in order of communities
// 0.93 times, so entries decide.
const (
	panelRow    = 256       // bytes of a row in a panel: four cache lines, which are fetched together; half of it where
	panelCached = 24 << 20  // only that makes a panel fit a cache of this size, which leaves room for what streams by
	panelBytes  = 64 << 20  // scratch for one panel at most
	panelUses   = 32        // entries per row of x from which copying it costs little
	panelWindow = 128 << 10 // entries that are looked at
	panelReach  = 32 << 20  // bytes of x's rows that these need: the L3 cache measured with
)

// PanelLen is how many floats panels of at most rows rows of x take at most, each of at most cols columns, where there are so many entries: see reaches. Attention
// copies rows of y, too.
func PanelLen(rows int, entries int64, cols int) int {
	if rows = min(rows, int(entries/panelUses)); 4*rows*cols < min(gatReach, panelReach) {
		return 0
	}
	return min(panelBytes, 2*rows*panelRow) / 4
}

// spmmRoom is scratch memory of spmm. The zero value is ready.
type spmmRoom struct {
	panel []float32
	seen  []uint64 // a bit per row of x
}

// size returns the bytes of an element of x.
func (s *spmmArgs) size() int {
	if s.x.V == nil {
		return 2
	}
	return 4
}

// scattered reports whether panels are worth their copies. It decides no bits.
func (s *spmmArgs) scattered(room *spmmRoom) bool { return s.reaches(panelReach, room) }

// reaches reports whether panels are possible and entries near each other need more than reach bytes of x's rows.
func (s *spmmArgs) reaches(reach int, room *spmmRoom) bool {
	row := s.size() * s.y.Cols
	if row < 2*panelRow || s.a.Cols*panelRow > panelBytes || s.a.Cols*row < reach ||
		s.a.Entries < panelUses*int64(s.a.Cols) {
		return false
	}
	seen := workers.Zeros(&room.seen, (s.a.Cols+63)/64)
	rows, left := 0, panelWindow
	for k := len(s.a.Begin) / 2; k < len(s.a.Begin) && left > 0; k++ {
		entries := s.a.Idx[s.a.Begin[k]:s.a.End[k]]
		for _, i := range entries {
			if bit := uint64(1) << (i & 63); seen[i>>6]&bit == 0 {
				seen[i>>6] |= bit
				rows++
			}
		}
		left -= len(entries)
	}
	return rows*row > reach
}

// inPanels is run, one panel of columns after the other; an element's bits are the same.
func (s *spmmArgs) inPanels(p *workers.Pool, scratch *spmmRoom, after func(worker, lo, hi int)) {
	rows, wide := s.a.Cols, panelRow
	if rows*panelRow > panelCached && rows*panelRow/2 <= panelCached {
		wide = panelRow / 2
	}
	most := wide / s.size()
	room := workers.Grown(&scratch.panel, rows*wide/4)
	for j := 0; j < s.y.Cols; j += most {
		n := min(most, s.y.Cols-j)
		part := *s
		part.y = s.y.columns(j, n)
		if s.x.V != nil {
			part.x = Dense{room, rows, n, n}
			copyPanel(p, room, s.x.V[j:], rows, n, s.x.LD)
		} else {
			room16 := unsafe.Slice((*uint16)(unsafe.Pointer(&room[0])), 2*len(room))
			part.x16 = Dense16{room16, rows, n, n}
			copyPanel(p, room16, s.x16.V[j:], rows, n, s.x16.LD)
		}
		if j+n < s.y.Cols {
			part.run(p, nil)
		} else {
			part.run(p, after)
		}
	}
}

// copyPanel copies rows of n elements, ld apart in src, to dst without gaps.
func copyPanel[T any](p *workers.Pool, dst, src []T, rows, n, ld int) {
	const block = 256 // rows at a time
	p.Each((rows+block-1)/block, func(_, item int) {
		for i := item * block; i < min((item+1)*block, rows); i++ {
			copy(dst[i*n:(i+1)*n], src[i*ld:])
		}
	})
}
