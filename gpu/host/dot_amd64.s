//go:build !noasm

#include "textflag.h"

// func dotRows(out, a, b, next *float32, heads, channels int)
//
// out[h] = Σ_c a[hC+c]·b[hC+c]: two vectors of partial sums (Y0, Y1) over 16 channels at a time, then 8, then a scalar sum
// (X4) over what is left. The vectors are added up by halves. One line of next is prefetched per 16 channels.
TEXT ·dotRows(SB), NOSPLIT, $0-48
	MOVQ out+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ next+24(FP), R8
	MOVQ heads+32(FP), CX
	MOVQ channels+40(FP), R9

head:
	TESTQ CX, CX
	JZ    done
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS X4, X4, X4
	MOVQ   R9, R10

wide:
	CMPQ R10, $16
	JLT  half
	PREFETCHT0   (R8)
	VMOVUPS      (SI), Y2
	VMOVUPS      32(SI), Y3
	VFMADD231PS  (DX), Y2, Y0
	VFMADD231PS  32(DX), Y3, Y1
	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, R8
	SUBQ $16, R10
	JMP  wide

half:
	CMPQ R10, $8
	JLT  single
	VMOVUPS     (SI), Y2
	VFMADD231PS (DX), Y2, Y0
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, R8
	SUBQ $8, R10

single:
	TESTQ R10, R10
	JZ    sum
	VMOVSS      (SI), X2
	VFMADD231SS (DX), X2, X4
	ADDQ $4, SI
	ADDQ $4, DX
	ADDQ $4, R8
	DECQ R10
	JMP  single

sum:
	VADDPS       Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VMOVHLPS     X0, X0, X1
	VADDPS       X1, X0, X0
	VMOVSHDUP    X0, X1
	VADDSS       X1, X0, X0
	VADDSS       X4, X0, X0
	VMOVSS       X0, (DI)
	ADDQ $4, DI
	DECQ CX
	JMP  head

done:
	VZEROUPPER
	RET
