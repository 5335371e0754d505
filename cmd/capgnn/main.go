package main

import (
	"os"

	"capgnn/cmd/capgnn/internal/term"
)

func main() {
	term.WriteSignalsToErrors()
	term.ObeySignals()
	os.Exit(run(os.Args, os.Stdout, os.Stderr))
}
