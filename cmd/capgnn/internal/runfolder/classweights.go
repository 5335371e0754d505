package runfolder

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/regular"
)

// Names of the options of what the loss weighs.
const (
	classWeights   = "class-weights"
	labelSmoothing = "label-smoothing"
)

// balanced weighs classes by how rare they are.
const balanced = "balanced"

// ClassWeights is what --class-weights says. Its zero value weighs nothing.
type ClassWeights struct {
	Balanced bool
	List     []float64 // by class
	File     string    // that has the list: it is read before anything else is done
}

const (
	// mostWeights bounds a list of weights, as files of runs hold it, and mostWeightsBytes a file of them.
	mostWeights      = 1024
	mostWeightsBytes = 1 << 20
)

// parseClassWeights reads --class-weights: a word, weights in the order of classes, or a file.
func parseClassWeights(text string) (w ClassWeights, err error) {
	if text == "" || text == balanced {
		w.Balanced = text != ""
		return w, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(item), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return ClassWeights{File: text}, nil
		}
		w.List = append(w.List, x)
	}
	return w, checkWeights(w.List)
}

// Weights but for 0 are between these: float32 has their sums, and what a sum divides.
const leastWeight, mostWeight = 1e-18, 1e18

// checkWeights reports what no class can weigh.
func checkWeights(list []float64) error {
	for class, x := range list {
		switch {
		case !(x >= 0) || math.IsInf(x, 0):
			return fmt.Errorf("class %d: weight %g is not a number of 0 or more", class, x)
		case x > mostWeight || x > 0 && x < leastWeight:
			return fmt.Errorf("class %d: weight %g is neither 0 nor in [%g, %g]", class, x, leastWeight, mostWeight)
		}
	}
	if len(list) > mostWeights {
		return fmt.Errorf("%d weights: at most %d are possible", len(list), mostWeights)
	}
	return nil
}

// readWeights puts the weights of a file in the place of its name, so that a run is repeated without it.
func (c *Config) readWeights() error {
	path := c.ClassWeights.Value.File
	if path == "" || c.ClassWeights.err != nil {
		return nil
	}
	if (strings.Contains(path, ",") || !strings.ContainsAny(path, "./"+string(filepath.Separator))) && !term.Exists(path) { // a slip of the keyboard
		return term.Usagef("--class-weights %s is neither balanced, nor weights such as 1,2.5, nor a file", path)
	}
	list, err := weightsIn(path)
	if err != nil {
		return term.Usagef("--%s %s: %w", classWeights, path, err)
	}
	c.Set(classWeights, FormatFloats(list))
	return nil
}

// weightsIn reads a file of weights: a line for each class, in their order, or lines of a class and its weight in any order. Empty lines and what follows # do not count.
func weightsIn(path string) ([]float64, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if at, err := f.Stat(); err != nil || at.Size() > mostWeightsBytes {
		return nil, fmt.Errorf("larger than %d bytes: not a file of class weights", mostWeightsBytes)
	}
	said := map[int]float64{}
	width := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, mostWeightsBytes+1)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\r' })
		if len(fields) == 0 {
			continue
		}
		if width == 0 {
			width = len(fields)
		}
		if len(fields) != width || width > 2 {
			return nil, fmt.Errorf("line %d: has %s: give a weight in each line, or a class and its weight", n, term.Counted(len(fields), "field"))
		}
		class := len(said)
		if width == 2 {
			if class, err = strconv.Atoi(fields[0]); err != nil || class < 0 || class >= mostWeights {
				return nil, fmt.Errorf("line %d: %s is not the number of a class", n, term.Quoted(fields[0], nil))
			}
		}
		if _, again := said[class]; again {
			return nil, fmt.Errorf("line %d: class %d is said twice", n, class)
		}
		x, err := strconv.ParseFloat(fields[width-1], 64)
		if err != nil || !(x >= 0) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("line %d: weight %s is not a number of 0 or more", n, fields[width-1])
		}
		said[class] = x
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(said) == 0 {
		return nil, errors.New("it has no weight: give one for each class")
	}
	list := make([]float64, len(said))
	for class := range list {
		x, ok := said[class]
		if !ok {
			return nil, fmt.Errorf("class %d has no weight", class)
		}
		list[class] = x
	}
	return list, checkWeights(list)
}

// checkCriterion looks at what the loss weighs.
func (c *Config) checkCriterion(p *problems) {
	if err := c.ClassWeights.err; err != nil {
		p.add("--%s: %w", classWeights, err)
	}
	if !(c.LabelSmoothing >= 0 && c.LabelSmoothing < 1) {
		p.add("--%s %g is not in [0, 1)", labelSmoothing, c.LabelSmoothing)
	}
	if c.ClassWeights.String() != "" && c.Phased() {
		p.add("--%s with --%s=phases=%d: each phase takes the mean over its targets, whatever they weigh: drop one of them", classWeights, isolated, c.Isolated.Value.Phases)
	}
}
