package runfolder

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/internal/number"
)

// SplitUsage is the help of --split; allowOverlap takes sets of the data set that overlap, AllowOverlapUsage is its
// help.
const (
	SplitUsage = "`SHARES` of training, validation and test for data without a split; " +
		"stratified:0.7,0.2,0.1 takes these shares of each class; " +
		"per-class:20,500,1000 takes 20 training vertices of each class, then 500 and 1000 of all others; " +
		"add ,seed=N to draw by N in place of --seed. For heterophilous-graphs files: the number of one of their splits"
	allowOverlap      = "allow-overlap"
	AllowOverlapUsage = "take the training, validation and test sets of the data set even if they have vertices in common"
)

// Split is how vertices are split: by the masks of the data set, by one of its numbered splits, or drawn.
type Split struct {
	Numbered bool // Row is the number of a split that stands in the data set's files
	Row      int
	Draw     dataset.Draw
	Seeded   bool // Draw.Seed was given
}

// Read makes s part of the options by which a data set is read. seed is for draws without one.
func (s Split) Read(opt *dataset.Options, seed uint64) {
	if s.Numbered {
		opt.Numbered, opt.MaskRow = true, s.Row
		return
	}
	if opt.Draw = &s.Draw; !s.Seeded {
		opt.Draw.Seed = seed
	}
}

// ways are the words that stand before what is drawn.
var ways = map[string]dataset.DrawBy{"stratified": dataset.Stratified, "per-class": dataset.PerClass}

// ParseSplit reads the number of a split, or [stratified:]train,val,test or per-class:train,val,test, and a seed behind
// it; "" gives neither.
func ParseSplit(text string) (Split, error) {
	if row, err := strconv.Atoi(text); err == nil && row >= 0 {
		return Split{Numbered: true, Row: row}, nil
	}
	if text == "" {
		return Split{Draw: dataset.Draw{Shares: dataset.DefaultFractions}}, nil
	}
	s := Split{Draw: dataset.Draw{Asked: true, Text: text}}
	k, err := parseKeys(text, []string{"seed"})
	if err != nil {
		return Split{}, fmt.Errorf("--split %q: %w", text, err)
	}
	rest := k.head
	for _, v := range k.values {
		if !k.said { // which is said below
			break
		}
		if s.Draw.Seed, err = strconv.ParseUint(v.text, 10, 64); err != nil {
			return Split{}, fmt.Errorf("--split %q: seed %q is not a whole number from 0 to 2^64-1", text, v.text)
		}
		s.Seeded = true
	}
	if way, behind, ok := strings.Cut(rest, ":"); ok {
		if s.Draw.By, ok = ways[strings.TrimSpace(way)]; !ok {
			return Split{}, fmt.Errorf("--split %q: %q is neither stratified nor per-class", text, way)
		}
		rest = behind
	}
	values, err := ParseFloats(rest)
	if err == nil && len(values) != 3 {
		err = errors.New("three numbers are needed")
	}
	if s.Draw.By == dataset.PerClass {
		return s, s.counts(values, err)
	}
	sum := 0.0
	for _, v := range values {
		if !(v >= 0 && v <= 1) {
			err = errors.New("a fraction is not in [0, 1]")
		}
		sum += v
	}
	if err != nil || values[0] == 0 || sum > 1+1e-9 {
		const wanted = "is not three fractions train,val,test with train above 0 and a sum of at most 1"
		return Split{}, fmt.Errorf("--split %q "+wanted+"%s", text, shareHint(rest, values, sum))
	}
	s.Draw.Shares = [3]float64(values)
	return s, nil
}

// shareHint says what is wrong with shares whose mistake is a common one.
func shareHint(rest string, values []float64, sum float64) string {
	by, way := ways[rest]
	switch {
	case way && by == dataset.PerClass:
		return ": write counts behind it, such as per-class:20,500,1000"
	case way:
		return ": write shares behind it, such as " + rest + ":0.7,0.2,0.1"
	case rest == "":
		return ": write shares first, such as 0.7,0.2,0.1,seed=8"
	case len(values) == 2:
		return ": of two shares the third is 0, such as 0.8,0.2,0"
	case len(values) == 3 && math.Abs(sum-100) < 1:
		return ": percentages are written as shares, such as 0.7,0.2,0.1"
	case len(values) == 3 && sum > 1 && sum < 2:
		return ": the sum is " + number.Plain.Text(sum)
	}
	return ""
}

// counts takes what stands behind per-class, unless it did not read.
func (s *Split) counts(values []float64, err error) error {
	bad := err != nil
	for i, v := range values {
		if bad = bad || v < 0 || v != math.Trunc(v) || v > math.MaxInt32; !bad {
			s.Draw.Counts[i] = int(v)
		}
	}
	if bad || s.Draw.Counts[0] == 0 {
		const wanted = "is not per-class:TRAIN,VAL,TEST with three whole numbers, the first above 0, such as per-class:20,500,1000"
		return fmt.Errorf("--split %q "+wanted, s.Draw.Text)
	}
	return nil
}
