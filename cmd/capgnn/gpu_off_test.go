//go:build !cuda

package main

import (
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
)

// A build without CUDA refuses GPUs in one line that says how to get one that does not.
func TestNoCUDA(t *testing.T) {
	for _, list := range []string{"cuda:0", "cpu:0,cuda:0"} {
		_, err := devices.Parse(list)
		if term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), "cuda:0: this build has no CUDA (`make gpu` builds it)") {
			t.Errorf("%s: %v", list, err)
		}
	}
}
