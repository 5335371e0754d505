package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gatConstants are vectors of equal lanes in memory.
type gatConstants map[string]mem

func newGatConstants(w *writer) gatConstants {
	c := gatConstants{}
	all := func(name string, bits uint32) { c[name] = w.table("gat"+name, func(int) uint32 { return bits }) }
	number := func(name string, x float64) { all(name, math.Float32bits(float32(x))) }
	// Powers: Cephes expf. ln 2 in two parts, of which the first has few bits.
	number("log2e", math.Log2E)
	number("ln2hi", 0.693359375)
	number("ln2lo", -2.12194440e-4)
	for i, x := range []float64{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5} {
		number("exp"+string(rune('0'+i)), x)
	}
	number("one", 1)
	number("least", -87.33654) // -126·ln 2: below it, e^x is subnormal
	number("most", 88.37)      // e^x is finite, and 127 the exponent
	number("lowest", math.Inf(-1))
	// Logarithms: FreeBSD's logf. The mantissa is brought to [√½, √2).
	all("sqrthalf", 0x3f3504f3)
	all("mantissa", 0x007fffff)
	for i, x := range []float64{0xaaaaaa.0p-24, 0xccce13.0p-25, 0x91e9ee.0p-25, 0xf89e26.0p-26} {
		number("log"+string(rune('0'+i)), x)
	}
	number("two", 2)
	number("half", 0.5)
	number("logln2hi", 6.9313812256e-01)
	number("logln2lo", 9.0580006145e-06)
	return c
}

// exp computes x = e^x, with a relative error below 2.5e-7; 0 for e^x below float32's normal numbers; NaN for NaN.
func (w *writer) exp(c gatConstants, x vec) {
	const (
		nearest   = 8
		notLess   = 0x15 // unordered, quiet
		lanesBits = 23
	)
	n, p := w.vec(), w.vec()
	var keep reg.Register
	if w.wide {
		k := w.K()
		w.VCMPPS(operand.Imm(notLess), c["least"], x, k)
		keep = k
		w.VMULPS(c["log2e"], x, n)
		w.VRNDSCALEPS(operand.Imm(nearest), n, n)
	} else {
		v := w.vec()
		w.VCMPPS(operand.Imm(notLess), c["least"], x, v)
		keep = v
		most := w.vec()
		w.VMOVUPS(c["most"], most)
		w.VMINPS(x, most, x) // x where it is not a number
		w.VMULPS(c["log2e"], x, n)
		w.VROUNDPS(operand.Imm(nearest), n, n)
	}
	w.VFNMADD231PS(c["ln2hi"], n, x)
	w.VFNMADD231PS(c["ln2lo"], n, x)
	w.VMOVUPS(c["exp0"], p)
	for _, k := range []string{"exp1", "exp2", "exp3", "exp4", "exp5", "one", "one"} {
		w.VFMADD213PS(c[k], x, p)
	}
	if w.wide {
		w.VSCALEFPS_Z(n, p, keep, x)
		return
	}
	w.VCVTPS2DQ(n, n)
	w.VPSLLD(operand.Imm(lanesBits), n, n)
	w.VPADDD(n, p, p)
	w.VANDPS(keep, p, x)
}

// log returns the logarithms of normal positive x, with an error below one unit in the last place; infinite x gives NaN.
func (w *writer) log(c gatConstants, x vec) vec {
	i, e, f, s, z, r := w.vec(), w.vec(), w.vec(), w.vec(), w.vec(), w.vec()
	w.VMOVUPS(c["sqrthalf"], i)
	w.VPSUBD(i, x, i)
	w.VPSRAD(operand.Imm(23), i, e)
	w.VCVTDQ2PS(e, e)
	if w.wide {
		w.VPANDD(c["mantissa"], i, f)
	} else {
		w.VPAND(c["mantissa"], i, f)
	}
	w.VPADDD(c["sqrthalf"], f, f)
	w.VSUBPS(c["one"], f, f)
	w.VADDPS(c["two"], f, s)
	w.VDIVPS(s, f, s) // s = f / (2 + f)
	w.VMULPS(s, s, z)
	w.VMOVUPS(c["log3"], r)
	for _, k := range []string{"log2", "log1", "log0"} {
		w.VFMADD213PS(c[k], z, r)
	}
	w.VMULPS(z, r, r)
	h := w.vec()
	w.VMULPS(c["half"], f, h)
	w.VMULPS(f, h, h) // f²/2
	w.VADDPS(h, r, r)
	w.VMULPS(s, r, r)
	w.VFMADD231PS(c["logln2lo"], e, r)
	w.VSUBPS(h, r, r)
	w.VADDPS(f, r, r)
	w.VFMADD231PS(c["logln2hi"], e, r)
	w.VSUBPS(x, x, h) // 0, or NaN
	w.VADDPS(h, r, r)
	return r
}
