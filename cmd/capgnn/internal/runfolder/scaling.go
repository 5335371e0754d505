package runfolder

import (
	"errors"
	"fmt"
	"io/fs"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/internal/npy"
)

// WriteScaling keeps what the features of a run were standardised with; nil: they were not.
func (d Dir) WriteScaling(s *dataset.Scaling) error {
	if s == nil {
		return nil
	}
	return npy.WriteArchiveFile(d.scaling(), []npy.Entry{{Key: "mean", Data: s.Mean}, {Key: "deviation", Data: s.Deviation}}, npy.Archiving{})
}

// ReadScaling returns what WriteScaling kept; nil: the features were not standardised.
func (d Dir) ReadScaling() (*dataset.Scaling, error) {
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
