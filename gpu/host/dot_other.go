//go:build !amd64 || noasm

package host

// dotRows is never called: without assembly, the instruction set is generic.
func dotRows(_, _, _, _ *float32, _, _ int) { panic("host: no assembly in this build") }
