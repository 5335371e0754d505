package tables

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"capgnn/graph/dataset/internal/fields"
)

// What stands for a feature that is missing, beside a number.
const (
	missingMean   = "mean"   // of the fields of its column that are known
	missingMedian = "median" // of these
	missingDrop   = "drop"   // nothing: its vertex is left out
)

// CheckMissing says whether a text is one that Tables.Missing takes.
func CheckMissing(missing string) error {
	switch missing {
	case "", missingMean, missingMedian, missingDrop:
		return nil
	}
	if _, ok := number(missing); !ok {
		return fmt.Errorf("--missing: %q is not a number, and not mean, median or drop", missing)
	}
	return nil
}

// fill finds what stands for fields of features that are missing, or the lines that are left out.
func (s *survey) fill() error {
	var gaps []int // columns
	for _, i := range s.c.of(roleFeature) {
		if s.c.all[i].of[cellMissing].count > 0 {
			gaps = append(gaps, i)
		}
	}
	switch {
	case gaps == nil:
		return nil
	case s.t.Missing == missingDrop:
		return s.leaveOut(gaps)
	case s.t.Missing != missingMean && s.t.Missing != missingMedian:
		for _, i := range gaps {
			s.c.all[i].fills = slices.Repeat([]string{s.t.Missing}, s.c.all[i].width)
		}
		return nil
	}
	for _, i := range gaps {
		if s.c.all[i].known() == 0 {
			return fmt.Errorf("%s: column %q has no field that is known, and so no %s: --drop it",
				s.t.Nodes, s.c.all[i].name, s.t.Missing)
		}
	}
	return s.average(gaps)
}

// leaveOut leaves out the lines in which a column of gaps is empty.
func (s *survey) leaveOut(gaps []int) error {
	s.left = make([]bool, s.lines)
	kept := s.lines
	err := s.again(func(_ *tableIn, k int, record []string) error {
		if slices.ContainsFunc(gaps, func(i int) bool { return fields.Unknown(record[i]) }) {
			s.left[k] = true
			kept--
		}
		return nil
	})
	if err == nil && kept == 0 {
		err = fmt.Errorf("%s: every vertex lacks a feature, so that --missing drop leaves none", s.t.Nodes)
	}
	return err
}

// average finds the means or medians of columns, in float64.
func (s *survey) average(gaps []int) error {
	sums, all, counts := make([][]float64, len(gaps)), make([][][]float64, len(gaps)), make([]int, len(gaps))
	for g, i := range gaps {
		sums[g], all[g] = make([]float64, s.c.all[i].width), make([][]float64, s.c.all[i].width)
	}
	err := s.again(func(in *tableIn, _ int, record []string) error {
		for g, i := range gaps {
			found := look(record[i], s.d.commas > 0)
			values := found.values()
			if found.kind == cellMissing {
				continue
			}
			if len(values) != len(sums[g]) {
				return in.fault("the table has changed while it was read")
			}
			counts[g]++
			for k, x := range values {
				if sums[g][k] += x; s.t.Missing == missingMedian {
					all[g][k] = append(all[g][k], x)
				}
			}
		}
		return nil
	})
	for g, i := range gaps {
		for k, sum := range sums[g] {
			x := sum / float64(counts[g])
			if s.t.Missing == missingMedian && len(all[g][k]) > 0 {
				x = median(all[g][k])
			}
			text := strconv.FormatFloat(x, 'g', -1, 64)
			if _, ok := number(text); !ok && err == nil {
				err = errors.New(s.t.Nodes + ": the table has changed while it was read")
			}
			s.c.all[i].fills = append(s.c.all[i].fills, text)
		}
	}
	return err
}

// median returns the middle of values, which it sorts.
func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
