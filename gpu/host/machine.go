package host

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"capgnn/gpu"
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

// hostMemory returns the memory of the host and what is free of it, within the limit of the process's control group.
func hostMemory() (total, free gpu.Bytes) {
	total, free = unknownMemory, unknownMemory
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return total, free
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, err := strconv.ParseInt(f[1], 10, 50)
		if err != nil || kib < 0 {
			continue
		}
		switch f[0] {
		case "MemTotal:":
			total = gpu.Bytes(kib) << 10
		case "MemAvailable:":
			free = gpu.Bytes(kib) << 10
		}
	}
	if limit, ok := groupBytes("memory.max"); ok {
		used, _ := groupBytes("memory.current")
		total = min(total, limit)
		free = min(free, max(limit-used, 0))
	}
	return total, min(free, total)
}

// groupBytes reads one number of the control group that a container sees as its root.
func groupBytes(file string) (gpu.Bytes, bool) {
	text, err := os.ReadFile("/sys/fs/cgroup/" + file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return gpu.Bytes(n), err == nil && n >= 0
}
