//go:build !noasm

package kernel

import "golang.org/x/sys/cpu"

//go:generate sh -c "cd gen && go run . .."

// detect asks the processor, and for the registers the operating system saves.
func detect() Level {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX2 && x.HasFMA && x.HasBMI2:
		return avx512
	case x.HasAVX2 && x.HasFMA:
		return avx2
	}
	return generic
}
