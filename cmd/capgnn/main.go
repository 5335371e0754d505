package main

import (
	"os"
	"time"
)

// began is when the program started.
var began = time.Now()

func main() {
	writeSignalsToErrors()
	obeySignals()
	os.Exit(run(os.Args, os.Stdout, os.Stderr))
}
