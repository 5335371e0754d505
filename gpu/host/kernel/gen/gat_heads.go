package main

import "github.com/mmcloughlin/avo/operand"

// heads is what the kernels over segments share: the segments, and the lanes of a group of heads.
type heads struct {
	*writer
	gatConstants
	seg, count gp
	stride     gp   // lanes of an entry
	lanes      mask // those that are heads
	spreads    vec  // lane mod stride
	slope      vec
	w          gp // weights of the segment, and one behind their last whole vector
	stop       gp
	rest       gp // lanes behind that
}

func startHeads(w *writer, c gatConstants) *heads {
	s := &heads{writer: w, gatConstants: c, stride: w.arg("stride")}
	s.lanes = w.firstLanes(w.arg("heads"))
	bits := w.GP64()
	w.LEAQ(mem{Base: s.stride, Disp: -1}, bits)
	s.spreads = w.vec()
	w.VMOVD(bits.As32(), s.spreads.AsX())
	w.VPBROADCASTD(s.spreads.AsX(), s.spreads)
	if w.wide {
		w.VPANDD(w.iota(), s.spreads, s.spreads)
	} else {
		w.VPAND(w.iota(), s.spreads, s.spreads)
	}
	s.seg, s.count = w.arg("seg"), w.arg("count")
	return s
}

// field loads a field of the segment.
func (s *heads) field(at int) gp {
	r := s.GP64()
	s.MOVQ(mem{Base: s.seg, Disp: at}, r)
	return r
}

// segments writes the loop over segments; there is at least one.
func (s *heads) segments(body func()) {
	s.Label("segment")
	body()
	s.ADDQ(operand.Imm(segSize), s.seg)
	s.DECQ(s.count)
	s.JNZ(operand.LabelRef("segment"))
	s.end()
}

// perRow returns the address of the row's values in an array of n vectors of gatLanes lanes per row.
func (s *heads) perRow(array string, n int) gp {
	p := s.field(segRow)
	s.IMUL3Q(operand.U32(uint64(4*gatLanes*n)), p, p)
	s.ADDQ(s.arg(array), p)
	return p
}

// spread loads a row's numbers per head into all lanes: lane l gets that of head l mod stride.
func (s *heads) spread(array, ld string) vec {
	p, v := s.field(segRow), s.vec()
	s.IMULQ(s.arg(ld), p)
	s.ADDQ(s.arg(array), p)
	s.load(mem{Base: p}, s.lanes, v)
	s.VPERMPS(v, s.spreads, v)
	return v
}

// gather copies numbers per head of the segment's entries to arrays of weights: from[i] with row stride ld[i] to to[i]. It
// leaves the address of the first one's weights in w.
func (s *heads) gather(from, ld, to []string) {
	idx, left, step := s.field(segFrom), s.field(segN), s.GP64()
	base := s.arg("idx")
	s.LEAQ(mem{Base: base, Index: idx, Scale: 4}, idx)
	at := s.field(segAt)
	s.w = s.arg(to[0])
	s.ADDQ(at, s.w)
	var src, dst []gp
	for i := range from {
		src = append(src, s.arg(from[i]))
		q := s.arg(to[i])
		s.ADDQ(at, q)
		dst = append(dst, q)
	}
	s.MOVQ(s.stride, step)
	s.SHLQ(operand.Imm(2), step)
	s.TESTQ(left, left)
	s.JZ(operand.LabelRef("gathered"))
	s.CMPQ(s.stride, operand.Imm(4))
	s.JG(operand.LabelRef("gatherwide"))
	for _, wide := range []bool{false, true} {
		label := map[bool]string{false: "gathernarrow", true: "gatherwide"}[wide]
		s.Label(label)
		col := s.GP64()
		s.MOVLQSX(mem{Base: idx}, col)
		for i := range src {
			p := s.GP64()
			s.MOVQ(s.arg(ld[i]), p)
			s.IMULQ(col, p)
			m := mem{Base: src[i], Index: p, Scale: 1}
			if wide {
				v := s.vec()
				s.load(m, s.lanes, v)
				s.VMOVUPS(v, mem{Base: dst[i]})
			} else {
				s.copy4(m, dst[i])
			}
			s.ADDQ(step, dst[i])
		}
		s.ADDQ(operand.Imm(4), idx)
		s.DECQ(left)
		s.JNZ(operand.LabelRef(label))
		if !wide {
			s.JMP(operand.LabelRef("gathered"))
		}
	}
	s.Label("gathered")
}

// copy4 copies at most four heads.
func (s *heads) copy4(from mem, to gp) {
	v := s.XMM()
	if s.writer.wide {
		s.VMOVUPS_Z(from, s.lanes, v)
	} else {
		s.VMASKMOVPS(from, s.lanes.(vec).AsX(), v)
	}
	s.VMOVUPS(v, mem{Base: to})
}

// bounds prepares each.
func (s *heads) bounds() {
	s.stop, s.rest = s.field(segN), s.GP64()
	s.IMULQ(s.stride, s.stop)
	s.MOVQ(s.stop, s.rest)
	s.ANDQ(operand.Imm(uint64(s.writer.lanes()-1)), s.rest)
	s.SUBQ(s.rest, s.stop)
	s.SHLQ(operand.Imm(2), s.stop)
}

// each writes a loop over the vectors of the segment's weights: body gets the byte offset of one, and the lanes of it that
// are entries, nil for all.
func (s *heads) each(label string, body func(j gp, k mask)) {
	j := s.GP64()
	s.XORQ(j, j)
	s.TESTQ(s.stop, s.stop)
	s.JZ(operand.LabelRef(label + "rest"))
	s.Label(label)
	body(j, nil)
	s.ADDQ(operand.Imm(uint64(s.size())), j)
	s.CMPQ(j, s.stop)
	s.JLT(operand.LabelRef(label))
	s.Label(label + "rest")
	s.TESTQ(s.rest, s.rest)
	s.JZ(operand.LabelRef(label + "done"))
	body(j, s.firstLanes(s.rest))
	s.Label(label + "done")
}

// leaky computes x = leaky(x) and returns where x was positive.
func (s *heads) leaky(x vec) mask {
	y := s.vec()
	k := s.positive(x)
	s.VMULPS(s.slope, x, y)
	if s.writer.wide {
		s.VMOVAPS(x, k, y)
		s.VMOVAPS(y, x)
		return k
	}
	s.VBLENDVPS(k.(vec), x, y, x)
	return k
}

// positive returns the lanes of x that are.
func (s *heads) positive(x vec) mask {
	const greater = 0x1e // ordered, quiet
	zero := s.vec()
	s.zero(zero)
	if s.writer.wide {
		k := s.K()
		s.VCMPPS(operand.Imm(greater), zero, x, k)
		return k
	}
	s.VCMPPS(operand.Imm(greater), zero, x, zero)
	return zero
}

// choose returns yes in the lanes of k, else no, which is clobbered.
func (s *heads) choose(k mask, yes, no vec) vec {
	if s.writer.wide {
		s.VMOVAPS(yes, k, no)
	} else {
		s.VBLENDVPS(k.(vec), yes, no, no)
	}
	return no
}

// clip clears the lanes outside of k, nil meaning all.
func (s *heads) clip(k mask, v vec) {
	switch {
	case k == nil:
	case s.writer.wide:
		s.VMOVAPS_Z(v, k, v)
	default:
		s.VANDPS(k.(vec), v, v)
	}
}

// fold combines the lanes of each head of v; every lane of a head gets the result. The order depends on the vector's size
// and the stride only.
func (s *heads) fold(label string, v vec, op func(t, v vec)) {
	t := s.vec()
	for d := s.writer.lanes() / 2; d > 0; d /= 2 {
		s.CMPQ(s.stride, operand.Imm(uint64(d)))
		s.JG(operand.LabelRef(label))
		switch {
		case d == 8:
			s.VSHUFF32X4(operand.Imm(0x4e), v, v, t)
		case d == 4 && s.writer.wide:
			s.VSHUFF32X4(operand.Imm(0xb1), v, v, t)
		case d == 4:
			s.VPERM2F128(operand.Imm(1), v, v, t)
		case d == 2:
			s.VPERMILPS(operand.Imm(0x4e), v, t)
		case d == 1:
			s.VPERMILPS(operand.Imm(0xb1), v, t)
		}
		op(t, v)
	}
	s.Label(label)
}

// ifFlag writes code for segments with a flag.
func (s *heads) ifFlag(flag int, label string, f func()) {
	s.unless(flag, label)
	f()
	s.Label(label)
}

// unless jumps to label unless the segment has a flag.
func (s *heads) unless(flag int, label string) {
	r := s.field(segFlags)
	s.TESTQ(operand.U32(uint64(flag)), r)
	s.JZ(operand.LabelRef(label))
}
