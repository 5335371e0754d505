// Package term is the side of the program that faces a person: where commands print, how far they have come, how numbers and
// errors are written, and with which exit code the program ends.
//
// Its nouns: the Console, where results (Out), progress and notes (Err) go; Progress, one phase under way, a bar on a
// terminal and some lines elsewhere; a Stage, a part of what a command does before its first epoch; errors with an exit code
// (Usagef, FitError, InterruptedError), which ExitCode alone maps.
//
// # Contract
//
// Notes may come from any goroutine; a phase belongs to the one that began it. An error becomes one line (ErrorLine), in which
// nothing moves a terminal's cursor. A limit of the system becomes an error that says what to raise (WithinLimits). After a
// signal the process ends within 2 s (Interruptible).
//
// It imports package gpu for the errors that mean a lost device or too little memory, and nothing else of this module but
// what all may use. Begin with console.go, then exit.go.
//
//	k := term.NewConsole(c)
//	bar := k.Begin("train", int64(epochs), "epochs", term.LinePause)
//	bar.At(int64(done), "loss 0.12")
//	bar.End()
package term
