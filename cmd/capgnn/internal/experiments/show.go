package experiments

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"capgnn/internal/bench"
)

// Ways to write numbers in tables; "" stands for what is not there.

// milliseconds writes a value in seconds.
func milliseconds(l *bench.Line, name string) string {
	if !l.Has(name) {
		return ""
	}
	return fmt.Sprintf("%.2f", 1e3*l.Value(name))
}

// mebibytes writes a value in bytes.
func mebibytes(l *bench.Line, name string) string {
	if !l.Has(name) {
		return ""
	}
	return fmt.Sprintf("%.2f", l.Value(name)/(1<<20))
}

// percent writes a share.
func percent(x float64) string { return fmt.Sprintf("%.1f", 100*x) }

// percentOf writes a value that is a share.
func percentOf(l *bench.Line, name string) string {
	if !l.Has(name) {
		return ""
	}
	return percent(l.Value(name))
}

// meanOf writes mean and, of several, sample deviation of a share over lines, in percent.
func meanOf(lines []*bench.Line, name string) string {
	var x []float64
	for _, l := range lines {
		if l.Has(name) {
			x = append(x, 100*l.Value(name))
		}
	}
	switch len(x) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%.2f", x[0])
	}
	m, d := stat.MeanStdDev(x, nil)
	return fmt.Sprintf("%.2f ± %.2f", m, d)
}

// middle returns the first and the third quartile of the epochs of a run behind the first.
func middle(l *bench.Line) (low, high float64) {
	x := l.Series["epoch_s"]
	if len(x) < 2 {
		return math.Inf(-1), math.Inf(1)
	}
	x = slices.Sorted(slices.Values(x[1:]))
	return stat.Quantile(0.25, stat.Empirical, x, nil), stat.Quantile(0.75, stat.Empirical, x, nil)
}

// doubtful writes a difference of two runs' epochs with a question mark where it may be noise: the middle halves of their epochs overlap.
func doubtful(text string, a, b *bench.Line) string {
	lowA, highA := middle(a)
	if lowB, highB := middle(b); lowA <= highB && lowB <= highA {
		return text + " ?"
	}
	return text
}

// ratio writes how many times a is of b.
func ratio(a, b float64) string {
	if b == 0 || math.IsNaN(a/b) {
		return ""
	}
	return fmt.Sprintf("%.2f", a/b)
}

// shortDataset is what tables call a data set.
func shortDataset(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	return strings.TrimSuffix(name, ".npz")
}

// scaled returns x times a factor.
func scaled(x []float64, by float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = by * x[i]
	}
	return out
}

// timesText says where the times of devices come from, and what is as uncertain as they are.
func timesText(devices string) string {
	if strings.HasPrefix(devices, "sim:") {
		return simulatedText
	}
	return "Times are measured: medians of the epochs behind the first, with whatever else the machine did, so small differences say nothing. Which rows have slots and which layers read old ones follows from rates that were measured, too: bytes with caches may differ from one repetition to the next."
}

// simulatedText says where simulated times come from.
const simulatedText = "Times are simulated: the trainer's own code enqueues its epochs on devices that compute nothing and take the time that the card's measured rates say (docs/bench/simulation.md). An epoch is a steady one, behind the first; with caches, the mean over whole periods."
