package main

import (
	"errors"
	"fmt"
	"io/fs"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/internal/npy"
)

// writeScaling keeps what the features of a run were standardised with; nil: they were not.
func (d runDir) writeScaling(s *dataset.Scaling) error {
	if s == nil {
		return nil
	}
	return npy.WriteArchiveFile(d.scaling(), []npy.Entry{{Key: "mean", Data: s.Mean}, {Key: "deviation", Data: s.Deviation}}, npy.Archiving{})
}

// readScaling returns what writeScaling kept; nil: the features were not standardised, or an older version made the run.
func (d runDir) readScaling() (*dataset.Scaling, error) {
	z, err := npy.OpenArchive(d.scaling())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, term.Usagef("%w", err)
	}
	defer z.Close()
	s := new(dataset.Scaling)
	for key, into := range map[string]*[]float64{"mean": &s.Mean, "deviation": &s.Deviation} {
		a, err := z.Array(key)
		if err == nil && len(a.Shape) != 1 {
			err = a.Fault(-1, fmt.Errorf("has shape %v, want one number per column", a.Shape))
		}
		if err == nil {
			*into, err = a.Float64()
		}
		if err != nil {
			return nil, term.Usagef("%w", err)
		}
	}
	return s, nil
}

// useScaling settles how the features of the data set that is predicted are standardised: with what the run's were, never
// with the rows of another data set.
func (p *prediction) useScaling() error {
	if p.cfg.makesFeatures() {
		return nil
	}
	s, err := p.run.readScaling()
	if err != nil {
		return err
	}
	p.scaling = s
	if s != nil || !p.other {
		return nil
	}
	if p.cfg.Standardize == dataset.StandardizeTrain || p.cfg.Standardize == dataset.Auto && looksLike(p.cfg.DatasetPath, "graphsaint") {
		return term.Usagef("--run %s standardised its features, but does not hold mean and deviation, as runs of older versions do not: train it again to predict another data set", p.run)
	}
	p.cfg.Standardize = dataset.StandardizeNone
	return nil
}
