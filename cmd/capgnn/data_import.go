package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"
)

func dataImportAction(c *cli.Context, name string) (err error) {
	k := newConsole(c)
	out, err := freeFolder(c)
	if err != nil {
		return err
	}
	start := time.Now()
	bar := k.begin("import", 2, between)
	defer bar.end()
	bar.at(0, "reading")
	d, err := openDataset(c, k, name)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := d.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("close %s: %w", d.Source, cerr)
		}
	}()
	bar.at(1, "writing")
	d.Name = filepath.Base(filepath.Clean(out))
	k.note("read %s (%s) as %s vertices and %s directed edges", d.Source, d.Format, grouped(int64(d.Graph.Rows())), grouped(d.Graph.Edges()))
	if err := writeStore(k, out, d, start); err != nil {
		return err
	}
	bar.at(2, "done")
	return nil
}
