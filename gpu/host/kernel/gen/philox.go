package main

import "github.com/mmcloughlin/avo/operand"

// Constants of Philox4x32-10 (Salmon et al., SC 2011).
const (
	philoxM0, philoxM1 = 0xD2511F53, 0xCD9E8D57
	philoxW0, philoxW1 = 0x9E3779B9, 0xBB67AE85
	philoxRounds       = 10
)

// philoxKernels writes the keep-mask kernels. One block is as many counters as a vector has float32 lanes, in two vectors
// of 64-bit lanes: the even counters and the odd ones. Only the low half of a lane counts, so that a 32×32-bit product
// is one instruction and its high word one shift.
func philoxKernels(w *writer) {
	evens := w.table("evens", func(i int) uint32 { return uint32(i * (1 - i%2)) })
	// Of 16 bytes, 4i+c goes to 4c+i.
	order := w.table("wordorder", func(i int) uint32 { return 0x0c080400 + 0x01010101*uint32(i%4) })
	w.both(func() { keepKernel(w, evens, order) })
	w.both(func() { edgesKernel(w, order) })
}

// keepKernel writes a loop over blocks of counters.
func keepKernel(w *writer, evens, order mem) {
	w.begin(w.name("philox", "keep"), "writes the keep bits of 4·lanes·blocks elements from element 4·counter on.",
		"func(dst *uint32, blocks int, counter, id, layer, epoch, key0, key1, threshold uint32)")
	dst, blocks := w.arg("dst"), w.arg("blocks")
	step, one := w.broadcastConst(uint32(w.lanes())), w.broadcastConst(1)
	m0, m1 := w.broadcastConst(philoxM0), w.broadcastConst(philoxM1)
	keys := w.roundKeys()
	constants := w.words("counter", "id", "layer", "epoch", "threshold")
	first := w.vec()
	w.VPBROADCASTD(constants[0], first)
	w.VPADDD(evens, first, first)

	block := func(n int) {
		w.philoxBlocks(n, m0, m1, one, step, first, keys, constants, func(words [4]vec) {
			w.keepBits(words, constants[4], dst, order)
			w.ADDQ(operand.Imm(uint64(w.lanes()/2)), dst)
		})
		w.SUBQ(operand.Imm(uint64(n)), blocks)
	}
	if w.wide { // registers for two blocks, whose rounds need not wait for each other
		w.Label("pair")
		w.CMPQ(blocks, operand.Imm(2))
		w.JLT(operand.LabelRef("single"))
		block(2)
		w.JMP(operand.LabelRef("pair"))
		w.Label("single")
		w.TESTQ(blocks, blocks)
		w.JZ(operand.LabelRef("done"))
	}
	w.Label("block")
	block(1)
	w.JNZ(operand.LabelRef("block"))
	w.Label("done")
	w.end()
}

// edgesKernel writes a loop over blocks of edges.
func edgesKernel(w *writer, order mem) {
	w.begin(w.name("philox", "edges"), "writes 4 keep bits for each of lanes·blocks edges: of counter {u, v, stream, epoch}.",
		"func(dst *uint32, blocks int, u, v *uint32, stream, epoch, key0, key1, threshold uint32)")
	dst, blocks := w.arg("dst"), w.arg("blocks")
	u, v := w.arg("u"), w.arg("v")
	m0, m1 := w.broadcastConst(philoxM0), w.broadcastConst(philoxM1)
	keys := w.roundKeys()
	constants := w.words("stream", "epoch", "threshold")
	w.TESTQ(blocks, blocks)
	w.JZ(operand.LabelRef("done"))
	w.Label("block")
	even := [4]vec{w.vec(), w.vec(), w.vec(), w.vec()}
	odd := [4]vec{w.vec(), w.vec(), w.vec(), w.vec()}
	for i, from := range []gp{u, v} {
		w.VMOVUPS(mem{Base: from}, even[i])
		w.VPSRLQ(operand.Imm(32), even[i], odd[i])
	}
	for i := range 2 {
		w.VPBROADCASTD(constants[i], even[2+i])
		w.VMOVUPS(even[2+i], odd[2+i])
	}
	sets := [][4]vec{even, odd}
	w.philoxRounds(sets, m0, m1, keys)
	for i := range 4 {
		w.interleave(sets[1][i], sets[0][i])
	}
	w.keepBits(sets[0], constants[2], dst, order)
	w.ADDQ(operand.Imm(uint64(w.lanes()/2)), dst)
	w.ADDQ(operand.Imm(uint64(4*w.lanes())), u)
	w.ADDQ(operand.Imm(uint64(4*w.lanes())), v)
	w.DECQ(blocks)
	w.JNZ(operand.LabelRef("block"))
	w.Label("done")
	w.end()
}

// philoxBlocks hands the words of n blocks to write.
func (w *writer) philoxBlocks(n int, m0, m1, one, step, first vec, keys mem, constants []mem, write func(words [4]vec)) {
	var sets [][4]vec // even counters, odd counters, of one block after the other
	for range n {
		even := [4]vec{w.vec(), w.vec(), w.vec(), w.vec()}
		odd := [4]vec{w.vec(), w.vec(), w.vec(), w.vec()}
		w.VMOVUPS(first, even[0])
		w.VPADDD(one, first, odd[0])
		w.VPADDD(step, first, first)
		for i := 1; i < 4; i++ {
			w.VPBROADCASTD(constants[i], even[i])
			w.VMOVUPS(even[i], odd[i])
		}
		sets = append(sets, even, odd)
	}
	w.philoxRounds(sets, m0, m1, keys)
	for k := range n {
		even, odd := sets[2*k], sets[2*k+1]
		for i := range even {
			w.interleave(odd[i], even[i])
		}
		write(even)
	}
}

// philoxRounds turns counters into words: a vector for each of a counter's four, in the low halves of 64-bit lanes. The rounds of one set
// of counters need not wait for those of another.
func (w *writer) philoxRounds(sets [][4]vec, m0, m1 vec, keys mem) {
	for round := range philoxRounds {
		k0, k1 := keys.Offset(8*round), keys.Offset(8*round+4)
		for i := range sets {
			c := &sets[i]
			low0, low1 := w.vec(), w.vec()
			w.VPMULUDQ(m0, c[0], low0)
			w.VPMULUDQ(m1, c[2], low1)
			w.VPSRLQ(operand.Imm(32), low1, c[0])
			w.VPSRLQ(operand.Imm(32), low0, c[2])
			w.xor(c[1], k0, c[0])
			w.xor(c[3], k1, c[2])
			c[1], c[3] = low1, low0
		}
	}
}

// roundKeys writes the keys of all rounds to the stack: two words per round.
func (w *writer) roundKeys() mem {
	m := w.AllocLocal(8 * philoxRounds)
	k0, k1 := w.Load(w.Param("key0"), w.GP32()), w.Load(w.Param("key1"), w.GP32())
	for round := range philoxRounds {
		w.MOVL(k0, m.Offset(8*round))
		w.MOVL(k1, m.Offset(8*round+4))
		w.ADDL(operand.U32(philoxW0), k0)
		w.ADDL(operand.U32(philoxW1), k1)
	}
	return m
}

// words copies 32-bit parameters to the stack, where vectors may read them (go vet knows no vector loads of a parameter).
func (w *writer) words(names ...string) []mem {
	m := w.AllocLocal(8 * ((len(names) + 1) / 2))
	var words []mem
	for i, name := range names {
		words = append(words, m.Offset(4*i))
		w.MOVL(w.Load(w.Param(name), w.GP32()), words[i])
	}
	return words
}

// xor computes v ^= a ^ k, k a word in memory.
func (w *writer) xor(a vec, k mem, v vec) {
	if w.wide {
		w.VPTERNLOGD_BCST(operand.Imm(0x96), k, a, v)
		return
	}
	t := w.vec()
	w.VPBROADCASTD(k, t)
	w.VPXOR(t, v, v)
	w.VPXOR(a, v, v)
}

// interleave moves the low halves of odd's 64-bit lanes to the high halves of even's.
func (w *writer) interleave(odd, even vec) {
	w.VPSLLQ(operand.Imm(32), odd, odd)
	if w.wide {
		k, bits := w.K(), w.GP32()
		w.MOVL(operand.U32(0xaaaa), bits)
		w.KMOVW(bits, k)
		w.VMOVDQA32(odd, k, even)
		return
	}
	w.VPBLENDD(operand.Imm(0xaa), odd, even, even)
}

// keepBits stores bit 4c+i for word i of counter c: whether it is at least the threshold.
func (w *writer) keepBits(words [4]vec, threshold mem, dst gp, order mem) {
	if !w.wide {
		least, t := w.vec(), w.vec()
		w.VPBROADCASTD(threshold, least)
		for _, v := range words {
			w.VPMAXUD(least, v, t)
			w.VPCMPEQD(t, v, v)
		}
		w.VPACKSSDW(words[1], words[0], words[0])
		w.VPACKSSDW(words[3], words[2], words[2])
		w.VPACKSSWB(words[2], words[0], words[0])
		w.VPSHUFB(order, words[0], words[0])
		bits := w.GP32()
		w.VPMOVMSKB(words[0], bits)
		w.MOVL(bits, mem{Base: dst})
		return
	}
	const notLess = 5
	sum, spread := w.GP64(), w.GP64()
	w.MOVQ(operand.U64(0x1111111111111111), spread)
	for i, v := range words {
		k, bits := w.K(), w.GP64()
		w.VPCMPUD_BCST(operand.Imm(notLess), threshold, v, k)
		w.KMOVW(k, bits.As32())
		w.PDEPQ(spread, bits, bits)
		if i == 0 {
			w.MOVQ(bits, sum)
			continue
		}
		w.SHLQ(operand.Imm(uint64(i)), bits)
		w.ORQ(bits, sum)
	}
	w.MOVQ(sum, mem{Base: dst})
}
