package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

type (
	gp   = reg.GPVirtual
	vec  = reg.VecVirtual
	mask = reg.Register // a K register (AVX-512) or a vector of all-ones lanes (AVX2)
	mem  = operand.Mem
)

// writer adds to avo's context what differs between the two instruction sets: AVX-512 has vectors of 64 bytes, mask
// registers and three-operand logic; AVX2 has 32 bytes and masks in vector registers.
type writer struct {
	*build.Context
	wide  bool // AVX-512
	iotas mem  // 0, 1, 2, … as int32, once it is used
}

// isa sets the instruction set of the functions that follow.
func (w *writer) isa(wide bool) { w.wide = wide }

// name returns "stem512rest" or "stem256rest".
func (w *writer) name(stem, rest string) string { return fmt.Sprintf("%s%d%s", stem, 8*w.size(), rest) }

// size returns the bytes of a vector.
func (w *writer) size() int {
	if w.wide {
		return 64
	}
	return 32
}

// lanes returns the float32s of a vector.
func (w *writer) lanes() int { return w.size() / 4 }

// both runs f for AVX-512, then for AVX2.
func (w *writer) both(f func()) {
	for _, wide := range []bool{true, false} {
		w.isa(wide)
		f()
	}
}

// begin starts a function.
func (w *writer) begin(name, doc, signature string) {
	w.Function(name)
	w.Attributes(attr.NOSPLIT)
	w.Doc(name + " " + doc)
	w.Pragma("noescape")
	w.SignatureExpr(signature)
}

// end ends a function.
func (w *writer) end() {
	w.VZEROUPPER()
	w.RET()
}

// arg loads a 64-bit parameter.
func (w *writer) arg(name string) gp { return w.Load(w.Param(name), w.GP64()).(gp) }

// vec returns a new vector register.
func (w *writer) vec() vec {
	if w.wide {
		return w.ZMM()
	}
	return w.YMM()
}

// vecs returns n new vector registers.
func (w *writer) vecs(n int) []vec {
	v := make([]vec, n)
	for i := range v {
		v[i] = w.vec()
	}
	return v
}

// zero clears vectors.
func (w *writer) zero(v ...vec) {
	for _, x := range v {
		w.VXORPS(x.AsX(), x.AsX(), x.AsX())
	}
}

// broadcastArg loads a float32 or 32-bit parameter into every lane.
func (w *writer) broadcastArg(name string) vec {
	v := w.vec()
	w.VBROADCASTSS(w.address(name), v)
	return v
}

// broadcastConst puts a 32-bit constant into every lane.
func (w *writer) broadcastConst(bits uint32) vec {
	v, r := w.vec(), w.GP32()
	w.MOVL(operand.U32(bits), r)
	w.VMOVD(r, v.AsX())
	w.VPBROADCASTD(v.AsX(), v)
	return v
}

// iota returns the address of 0, 1, …, 15 as int32, made on first use.
func (w *writer) iota() mem {
	if w.iotas.Base == nil {
		w.iotas = w.table("iota", func(i int) uint32 { return uint32(i) })
	}
	return w.iotas
}

// table adds sixteen 32-bit constants to the file.
func (w *writer) table(name string, value func(i int) uint32) mem {
	m := w.StaticGlobal(name)
	w.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		w.AddDatum(4*i, operand.U32(value(i)))
	}
	return m
}

// address returns where a parameter lies.
func (w *writer) address(name string) mem {
	p, err := w.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// firstLanes returns a mask of the first n lanes; n is a register with 0 ≤ n ≤ lanes.
func (w *writer) firstLanes(n gp) mask {
	if w.wide {
		bits, k := w.GP32(), w.K()
		w.MOVL(operand.U32(0xffffffff), bits)
		w.BZHIL(n.As32(), bits, bits)
		w.KMOVW(bits, k)
		return k
	}
	v := w.vec()
	w.VMOVD(n.As32(), v.AsX())
	w.VPBROADCASTD(v.AsX(), v)
	w.VPCMPGTD(w.iota(), v, v)
	return v
}

// load reads a vector, or with k only its lanes, the others being 0.
func (w *writer) load(m mem, k mask, v vec) {
	switch {
	case k == nil:
		w.VMOVUPS(m, v)
	case w.wide:
		w.VMOVUPS_Z(m, k, v)
	default:
		w.VMASKMOVPS(m, k, v)
	}
}

// store writes a vector, or with k only its lanes.
func (w *writer) store(v vec, k mask, m mem) {
	switch {
	case k == nil:
		w.VMOVUPS(v, m)
	case w.wide:
		w.VMOVUPS(v, k, m)
	default:
		w.VMASKMOVPS(v, k, m)
	}
}

// addFrom adds memory, or with k only its lanes, to v. t is clobbered.
func (w *writer) addFrom(m mem, k mask, v, t vec) {
	if k == nil {
		w.VADDPS(m, v, v)
		return
	}
	w.load(m, k, t)
	w.VADDPS(t, v, v)
}

// sum leaves the sum of v's lanes in every lane of v. The order is a tree that depends on the vector's size only.
func (w *writer) sum(v vec) {
	t := w.vec()
	if w.wide {
		w.VEXTRACTF64X4(operand.Imm(1), v, t.AsY())
		w.VADDPS(t.AsY(), v.AsY(), v.AsY())
		w.VEXTRACTF32X4(operand.Imm(1), v.AsY(), t.AsX())
	} else {
		w.VEXTRACTF128(operand.Imm(1), v, t.AsX())
	}
	w.VADDPS(t.AsX(), v.AsX(), v.AsX())
	w.VPERMILPS(operand.Imm(0x4e), v.AsX(), t.AsX())
	w.VADDPS(t.AsX(), v.AsX(), v.AsX())
	w.VPERMILPS(operand.Imm(0xb1), v.AsX(), t.AsX())
	w.VADDPS(t.AsX(), v.AsX(), v.AsX())
	w.VBROADCASTSS(v.AsX(), v)
}
