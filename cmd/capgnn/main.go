package main

import (
	"fmt"
	"os"

	"capgnn/cmd/capgnn/internal/term"
)

func main() {
	if err := term.CheckLimits(); err != nil { // before anything takes memory
		fmt.Fprintln(os.Stderr, term.ErrorLine(err))
		os.Exit(term.ExitCode(err))
	}
	term.WriteSignalsToErrors()
	term.ObeySignals()
	os.Exit(run(os.Args, os.Stdout, os.Stderr))
}
