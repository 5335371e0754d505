package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/number"
)

// print writes the plan: one JSON line, or the answers, what each choice of devices would take, and with buffers what lies in their
// memory.
func (m *memoryPlan) print(k *term.Console, buffers bool) error {
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(m)
	}
	if err := m.answers(k.Out); err != nil {
		return err
	}
	if len(m.Subsets) > 1 {
		fmt.Fprintln(k.Out)
		if err := subsetTable(k.Out, m.Subsets); err != nil {
			return err
		}
	}
	if !buffers {
		return nil
	}
	for _, d := range m.Devices {
		fmt.Fprintln(k.Out)
		if err := d.table(k.Out); err != nil {
			return err
		}
	}
	return nil
}

// answers says what is asked of a plan: whether the run fits, how long an epoch takes, on which devices it is fastest and by how
// much, and what memory it takes.
func (m *memoryPlan) answers(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	verdict := "yes"
	var lacking []string
	for _, d := range m.Devices {
		if !d.Fits {
			lacking = append(lacking, fmt.Sprintf("%s lacks %s", d.Device, term.Size(d.Peak-d.Budget)))
		}
	}
	if lacking != nil {
		verdict = "no, it does not fit: " + strings.Join(lacking, ", ")
	}
	fmt.Fprintf(t, "fits\t%s\n", verdict)
	switch all := m.whole(); {
	case all != nil:
		fmt.Fprintf(t, "epoch\t%s predicted, %s of transfers in it, %s moved\n", term.Duration(&all.EpochS), term.Duration(&all.CommS), term.Size(all.Bytes))
	default:
		fmt.Fprintln(t, "epoch\tnot predicted for one device that is not measured: name its profile with --profile")
	}
	if len(m.Subsets) > 1 {
		best, text := m.Subsets[0], "none of them fits"
		if best.Fits {
			text = fmt.Sprintf("%s: %s, %s times as fast as the fastest device alone", shortDevices(strings.Join(best.Devices, ",")), term.Duration(&best.EpochS), number.Ratio.Text(best.Speedup))
		}
		fmt.Fprintf(t, "best choice\t%s\n", text)
	}
	for i, d := range m.Devices {
		name := ""
		if i == 0 {
			name = "memory"
		}
		fmt.Fprintf(t, "%s\t%s: %s of %s\n", name, d.Device, term.Size(d.Peak), term.Size(d.Budget))
	}
	if h := m.Host; h.Cache+h.Staging > 0 {
		fmt.Fprintf(t, "host memory\tcache %s, rows on their way %s, page-locked\n", term.Size(h.Cache), term.Size(h.Staging))
	}
	if c := m.Caches; c != nil {
		fmt.Fprintf(t, "cache\t%s\n", c)
	}
	return t.Flush()
}

// whole returns what the run would take on all its devices, nil where that was not told.
func (m *memoryPlan) whole() *subset {
	for i := range m.Subsets {
		if len(m.Subsets[i].Devices) == len(m.Devices) {
			return &m.Subsets[i]
		}
	}
	return nil
}

// table writes what lies in the memory of the device.
func (d *deviceMemory) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\t%s of %s\t\n", d.Device, term.Size(d.Peak), term.Size(d.Budget))
	for _, b := range d.Buffers {
		name := b.Name
		if b.Blocks > 1 {
			name += fmt.Sprintf(" (%s)", term.Counted(b.Blocks, "block"))
		}
		note := ""
		if b.Before {
			note = "until the first epoch"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", strings.TrimSpace(name), term.Size(b.Bytes), note)
	}
	return t.Flush()
}
