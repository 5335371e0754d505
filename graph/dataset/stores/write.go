package stores

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/atomicfile"
	"capgnn/internal/npy"
)

// Write writes d as a native store, a new folder dir, and reports to watch, which may be nil. The folder appears under
// its name only when it is complete; on an error nothing is left. Equal data sets give equal bytes. dir must not exist yet,
// unless it is empty.
func Write(dir string, d *dataset.Dataset, watch dataset.Watch) error {
	if err := d.Validate(); err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
		return fmt.Errorf("write %s: the folder exists and is not empty; remove it or choose another", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return atomicfile.Folder(dir, func(tmp string) error {
		for _, e := range entries(d) {
			if err := writeArray(tmp, e, watch); err != nil {
				return err
			}
		}
		if err := fields.WriteNames(d, tmp); err != nil {
			return err
		}
		text, err := json.MarshalIndent(metaOf(d), "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(tmp, MetaFile), append(text, '\n'), 0o644)
	})
}

// writeArray writes an array of a store.
func writeArray(dir string, e npy.Entry, watch dataset.Watch) error {
	path := filepath.Join(dir, e.Key+".npy")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := &watched{w: f, name: filepath.Base(path), total: e.Size(), watch: watch}
	b := bufio.NewWriterSize(w, 1<<18)
	if err = npy.Write(b, e.Shape, e.Data); err == nil {
		err = b.Flush()
	}
	if err = errors.Join(err, f.Close()); err == nil && watch != nil {
		err = watch(w.name, w.total, w.total)
	}
	return err
}

// watched reports to watch what is written.
type watched struct {
	w           io.Writer
	name        string
	total       int64
	watch       dataset.Watch
	done, asked int64 // bytes
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.done += int64(n)
	if err == nil && w.watch != nil && w.done-w.asked >= textfile.WatchBytes {
		w.asked = w.done
		err = w.watch(w.name, min(w.done, w.total), w.total)
	}
	return n, err
}

// entries lists the arrays of a store.
func entries(d *dataset.Dataset) []npy.Entry {
	n := d.Graph.Rows()
	out := []npy.Entry{{Key: "indptr", Data: d.Graph.Indptr}, {Key: "indices", Data: d.Graph.Indices}}
	if d.Graph.Weights != nil {
		out = append(out, npy.Entry{Key: weightsKey, Data: d.Graph.Weights})
	}
	switch f := d.Features; {
	case f.Sparse():
		out = append(out, npy.Entry{Key: "x_indptr", Data: f.Indptr}, npy.Entry{Key: "x_indices", Data: f.Indices}, npy.Entry{Key: "x_data", Data: f.Data})
	case f.Present():
		out = append(out, npy.Entry{Key: "x", Shape: []int{n, f.Cols}, Data: f.Dense})
	}
	switch {
	case d.Labels != nil:
		wide := make([]int64, n)
		for v, y := range d.Labels {
			wide[v] = int64(y)
		}
		out = append(out, npy.Entry{Key: "y", Data: wide})
	case d.Targets != nil:
		out = append(out, npy.Entry{Key: "y", Shape: []int{n, d.Classes}, Data: d.Targets})
	}
	for _, k := range d.Masks() {
		if *k.Of != nil {
			out = append(out, npy.Entry{Key: k.Key, Data: *k.Of})
		}
	}
	if d.IDs != nil {
		out = append(out, npy.Entry{Key: "ids", Data: d.IDs})
	}
	return out
}
