package main

import (
	"os"
	"time"

	"capgnn/cmd/capgnn/internal/term"
)

// began is when the program started.
var began = time.Now()

func main() {
	term.WriteSignalsToErrors()
	term.ObeySignals()
	os.Exit(run(os.Args, os.Stdout, os.Stderr))
}
