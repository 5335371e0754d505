package runfolder

import (
	"fmt"
	"strconv"
	"strings"
)

// Cadence is how often a checkpoint is kept: every so many epochs, or every so many steps of sampled training. 0: only when interrupted and
// at the end.
type Cadence struct{ Epochs, Steps int }

// stepsUnit stands behind a number of steps.
const stepsUnit = "steps"

// parseCadence reads a number of epochs, or of steps with their unit.
func parseCadence(text string) (Cadence, error) {
	number, steps := strings.CutSuffix(text, stepsUnit)
	n, err := strconv.Atoi(number)
	if steps {
		return Cadence{Steps: n}, err
	}
	return Cadence{Epochs: n}, err
}

// value is an int of epochs, or a text.
func (c Cadence) value() any {
	if c.Steps != 0 {
		return c.String()
	}
	return c.Epochs
}

// String returns what parseCadence reads.
func (c Cadence) String() string {
	if c.Steps != 0 {
		return fmt.Sprint(c.Steps, stepsUnit)
	}
	return strconv.Itoa(c.Epochs)
}
