package host

import (
	"os"
	"runtime"
	"strings"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// cpuModel returns the processor's name, or the architecture where the system does not tell.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			key, value, ok := strings.Cut(line, ":")
			if ok && strings.TrimSpace(key) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return runtime.GOARCH + " CPU"
}

// unknownMemory stands for a host that does not tell its memory: larger than any budget anyone sets, and no bound.
const unknownMemory = gpu.Bytes(1) << 46

// hostMemory returns the memory of the host and what is free of it, within the limits of the process's control groups.
func hostMemory() (total, free gpu.Bytes) {
	f, t, err := hostmem.Free()
	if err != nil {
		return unknownMemory, unknownMemory
	}
	return gpu.Bytes(t), gpu.Bytes(min(f, t))
}
