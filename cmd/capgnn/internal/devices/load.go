package devices

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// load returns how long the machine's processors were busy with other programs than this one, and how long they ran in all, in the ticks of the system's clock;
// zeros where the system does not tell, as others than Linux. What a hypervisor took for its other guests counts as busy.
func load() (others, all float64) {
	machine, err := os.ReadFile("/proc/stat")
	own, err2 := os.ReadFile("/proc/self/stat")
	if err != nil || err2 != nil {
		return 0, 0
	}
	return loadOf(string(machine), string(own))
}

// loadOf reads the two files.
func loadOf(machine, own string) (others, all float64) {
	line, _, _ := strings.Cut(machine, "\n")
	times := ticks(strings.Fields(strings.TrimPrefix(line, "cpu ")))
	words := strings.Fields(own[strings.LastIndex(own, ")")+1:]) // behind the name, which may hold anything: a letter, then numbers
	process := ticks(words[min(1, len(words)):])
	if len(times) < 8 || len(process) < 12 {
		return 0, 0
	}
	for i, t := range times[:8] { // user, nice, system, idle, waiting for disks, interrupts of two kinds, stolen
		all += t
		if !slices.Contains([]int{3, 4}, i) {
			others += t
		}
	}
	return max(0, others-process[10]-process[11]), all
}

// ticks reads numbers.
func ticks(words []string) (out []float64) {
	for _, w := range words {
		x, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return out
		}
		out = append(out, x)
	}
	return out
}
