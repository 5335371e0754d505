package main

import "github.com/mmcloughlin/avo/operand"

// plainKernels writes ReLU·dropout without LayerNorm, one row forward and one row backward.
func plainKernels(w *writer) {
	bits := w.table("plainbitsel", func(i int) uint32 { return 1 << (i % 8) })
	w.both(func() {
		plainForward(w, bits)
		plainBackward(w, bits)
	})
}

// label returns the name of a label inside of a column body.
func label(name string, k mask) string {
	if k != nil {
		return name + "rest"
	}
	return name
}

func plainForward(w *writer, bits mem) {
	w.begin(w.name("plain", "forward"), "is plainForward.",
		"func(n int, h, z *float32, relu bool, keep *uint32, keepScale float32)")
	r := startRowPass(w, bits)
	h, z := w.arg("h"), w.arg("z")
	r.keep = w.arg("keep")
	r.scale = w.broadcastArg("keepScale")
	floor := r.reluFloor()
	r.columns("column", func(k mask) {
		v := r.get(z, k)
		w.VMAXPS(v, floor, v) // v where it is not a number
		r.ifKept(label("all", k), func(keep mask) { r.scaleKept(keep, v) })
		w.store(v, k, r.at(h))
	})
	w.end()
}

func plainBackward(w *writer, bits mem) {
	w.begin(w.name("plain", "backward"), "is plainBackward; x may be nil.",
		"func(n int, dz, dh, x *float32, keep *uint32, keepScale float32)")
	r := startRowPass(w, bits)
	dz, dh, x := w.arg("dz"), w.arg("dh"), w.arg("x")
	r.keep = w.arg("keep")
	r.scale = w.broadcastArg("keepScale")
	zero := w.vec()
	w.zero(zero)
	r.columns("column", func(k mask) {
		const greater = 0x1e // ordered, quiet
		g := r.get(dh, k)
		r.ifKept(label("all", k), func(keep mask) { r.scaleKept(keep, g) })
		w.TESTQ(x, x)
		w.JZ(operand.LabelRef(label("linear", k)))
		y := r.get(x, k)
		if w.wide {
			pass := w.K()
			w.VCMPPS(operand.Imm(greater), zero, y, pass)
			w.VMOVAPS_Z(g, pass, g)
		} else {
			w.VCMPPS(operand.Imm(greater), zero, y, y)
			w.VANDPS(y, g, g)
		}
		w.Label(label("linear", k))
		w.store(g, k, r.at(dz))
	})
	w.end()
}
