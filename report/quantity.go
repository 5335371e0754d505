package report

import (
	"strings"

	"capgnn/internal/number"
)

// quantity says what numbers are, and so how they are written.
type quantity = number.Kind

const (
	plain   = number.Plain
	share   = number.Share
	score   = number.Score
	seconds = number.Seconds
	amount  = number.Bytes
	count   = number.Count
)

// written writes a number of a quantity so that no line is broken inside it.
func written(q quantity, x float64) string { return strings.ReplaceAll(q.Text(x), " ", "\u00a0") }
