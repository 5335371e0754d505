package kernel

// Level is an instruction set that the kernels are written for. Levels are ordered: each includes the ones before it.
type Level uint8

// The levels. generic is portable Go; the others are the assembly that gen/ writes.
const (
	generic Level = iota
	avx2
	avx512
)

func (l Level) String() string { return [...]string{"generic", "avx2", "avx512"}[l] }

// Active is the level that the kernels of this process use: the best one that the processor and the operating system
// support, and generic with the build tag noasm. It is read by every kernel call and set by tests only, before use.
var Active = detect()

// ISA names the instruction set in use. Results of different instruction sets agree to rounding only, so the name is a
// part of what "same devices" means (docs/determinism.md).
func ISA() string { return Active.String() }
