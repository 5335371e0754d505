package main

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/term"
)

// importGC is the garbage that may lie beside the data while it is read, in percent. The arrays of a data set hold no
// pointers, so that collecting often costs next to nothing.
const importGC = 10

func dataImportAction(c *cli.Context, name string) (err error) {
	k := term.NewConsole(c)
	out, err := freeFolder(c)
	if err != nil {
		return err
	}
	ctx, stop := term.Interruptible(c.Context, k, "as soon as possible")
	defer stop()
	defer debug.SetGCPercent(debug.SetGCPercent(importGC))
	start := time.Now()
	k.Note("reading %s", name)
	d, err := openDataset(ctx, c, k, name)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := d.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("close %s: %w", d.Source, cerr)
		}
	}()
	d.Name = filepath.Base(filepath.Clean(out))
	k.Note("read %s (%s) as %s vertices and %s directed edges", d.Source, d.Format, term.Grouped(int64(d.Graph.Rows())), term.Grouped(d.Graph.Edges()))
	if d.Scaling != nil {
		k.Note("note: the store holds standardised features, not their mean and deviation: a run on it cannot bring other data to their scale. " +
			"Import with --standardize none and train with --standardize train: such a run keeps both")
	}
	return writeStore(ctx, k, out, d, start)
}
