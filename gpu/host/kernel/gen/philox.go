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
	w.both(func() {
		philoxKernel(w, "keep", "writes the keep bits of 4·lanes·blocks elements from element 4·counter on.", evens, []string{"threshold"},
			func(words [4]vec, constants []mem, dst gp) {
				w.keepBits(words, constants[0], dst, order)
				w.ADDQ(operand.Imm(uint64(w.lanes()/2)), dst)
			})
		philoxKernel(w, "words", "writes the words of lanes·blocks counters, four each, from counter on.", evens, nil,
			func(words [4]vec, _ []mem, dst gp) {
				w.storeWords(words, dst)
				w.ADDQ(operand.U32(4*w.size()), dst)
			})
	})
}

// philoxKernel writes a loop over blocks of counters. more are further parameters, which write gets as constants; it takes
// word i of every counter of a block and moves dst on.
func philoxKernel(w *writer, rest, doc string, evens mem, more []string, write func(words [4]vec, constants []mem, dst gp)) {
	signature := "func(dst *uint32, blocks int, counter, id, layer, epoch, key0, key1"
	for _, name := range more {
		signature += ", " + name
	}
	w.begin(w.name("philox", rest), doc, signature+" uint32)")
	dst, blocks := w.arg("dst"), w.arg("blocks")
	step, one := w.broadcastConst(uint32(w.lanes())), w.broadcastConst(1)
	m0, m1 := w.broadcastConst(philoxM0), w.broadcastConst(philoxM1)
	keys := w.roundKeys()
	constants := w.words(append([]string{"counter", "id", "layer", "epoch"}, more...)...)
	first := w.vec()
	w.VPBROADCASTD(constants[0], first)
	w.VPADDD(evens, first, first)

	block := func(n int) {
		w.philoxBlocks(n, m0, m1, one, step, first, keys, constants, func(words [4]vec) { write(words, constants[4:], dst) })
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
	for k := range n {
		even, odd := sets[2*k], sets[2*k+1]
		for i := range even {
			w.interleave(odd[i], even[i])
		}
		write(even)
	}
}

// storeWords stores the words of every counter one after the other: 16 bytes per counter.
func (w *writer) storeWords(words [4]vec, dst gp) {
	pair := w.vecs(4) // words 0 and 1, 2 and 3, of the first two counters of each 16 bytes; then of the others
	w.VPUNPCKLDQ(words[1], words[0], pair[0])
	w.VPUNPCKLDQ(words[3], words[2], pair[1])
	w.VPUNPCKHDQ(words[1], words[0], pair[2])
	w.VPUNPCKHDQ(words[3], words[2], pair[3])
	for i := range 4 {
		v, low := w.vec(), 2*(i/2)
		if i%2 == 0 {
			w.VPUNPCKLQDQ(pair[low+1], pair[low], v)
		} else {
			w.VPUNPCKHQDQ(pair[low+1], pair[low], v)
		}
		w.VMOVUPS(v.AsX(), mem{Base: dst, Disp: 16 * i})
		for k := 1; k < w.size()/16; k++ {
			to := mem{Base: dst, Disp: 64*k + 16*i}
			if w.wide {
				w.VEXTRACTF32X4(operand.Imm(uint64(k)), v, to)
			} else {
				w.VEXTRACTF128(operand.Imm(uint64(k)), v, to)
			}
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
