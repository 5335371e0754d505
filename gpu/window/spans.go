package window

import "capgnn/gpu"

// span is bytes lo to hi of a block.
type span struct{ lo, hi gpu.Bytes }

// spans are disjoint, ascending, and do not touch.
type spans []span

// add returns s with another span.
func (s spans) add(lo, hi gpu.Bytes) spans {
	if lo >= hi {
		return s
	}
	out := make(spans, 0, len(s)+1)
	k := 0
	for ; k < len(s) && s[k].hi < lo; k++ {
		out = append(out, s[k])
	}
	for ; k < len(s) && s[k].lo <= hi; k++ {
		lo, hi = min(lo, s[k].lo), max(hi, s[k].hi)
	}
	return append(append(out, span{lo, hi}), s[k:]...)
}

// cut returns s without a span.
func (s spans) cut(lo, hi gpu.Bytes) (out spans) {
	if lo >= hi {
		return s
	}
	for _, x := range s {
		if x.lo < min(x.hi, lo) {
			out = append(out, span{x.lo, min(x.hi, lo)})
		}
		if max(x.lo, hi) < x.hi {
			out = append(out, span{max(x.lo, hi), x.hi})
		}
	}
	return out
}

// within returns what s has between two bytes.
func (s spans) within(lo, hi gpu.Bytes) (out spans) {
	for _, x := range s {
		if a, b := max(x.lo, lo), min(x.hi, hi); a < b {
			out = append(out, span{a, b})
		}
	}
	return out
}

// set is spans of blocks.
type set map[*block]spans

func (s set) add(b *block, lo, hi gpu.Bytes) { s[b] = s[b].add(lo, hi) }

func (s set) cut(b *block, lo, hi gpu.Bytes) { s[b] = s[b].cut(lo, hi) }

// and returns what two sets have in common.
func (s set) and(o set) set {
	out := set{}
	for b, list := range s {
		for _, x := range list {
			for _, y := range o[b].within(x.lo, x.hi) {
				out.add(b, y.lo, y.hi)
			}
		}
	}
	return out
}

// without returns what s has and o has not.
func (s set) without(o set) set {
	out := set{}
	for b, list := range s {
		for _, y := range o[b] {
			list = list.cut(y.lo, y.hi)
		}
		if len(list) > 0 {
			out[b] = list
		}
	}
	return out
}

// or returns what one of two sets has.
func (s set) or(o set) set {
	out := set{}
	for _, of := range []set{s, o} {
		for b, list := range of {
			for _, x := range list {
				out.add(b, x.lo, x.hi)
			}
		}
	}
	return out
}
