package runfolder

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"capgnn/gpu"
	"capgnn/internal/regular"
	"capgnn/internal/runfile"
)

// maxMeters bounds what a line of metrics says of meters, to about 15 KiB.
const maxMeters = 128

// metersOf returns what a line says of meters; nil where they are more than it has room for.
func metersOf(meters []gpu.Metered) (all []runfile.Metered) {
	if len(meters) > maxMeters {
		return nil
	}
	for _, m := range meters {
		all = append(all, runfile.Metered(m))
	}
	return all
}

// ReadMeters returns the sums over the epochs of a metrics file, by rank and device; nil where no meter was read.
func ReadMeters(path string) (all []gpu.Metered, err error) {
	err = eachLine(path, "meters", func(e *struct {
		Meters []gpu.Metered `json:"meters"`
	}) {
		for _, m := range e.Meters {
			if k := slices.IndexFunc(all, func(o gpu.Metered) bool { return o.Rank == m.Rank && o.Device == m.Device }); k >= 0 {
				all[k] = all[k].Add(m)
			} else {
				all = append(all, m)
			}
		}
	})
	return all, err
}

// eachLine reads what E has of every line of a metrics file.
func eachLine[E any](path, what string, do func(*E)) error {
	f, err := regular.Open(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	defer f.Close()
	for in := json.NewDecoder(bufio.NewReader(f)); ; {
		var e E
		if err := in.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read %s in %s: %w", what, path, err)
		}
		do(&e)
	}
}
