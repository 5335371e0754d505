package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/internal/number"
)

// printPlan writes the plan: one JSON line, or the answers, what each choice of devices would take, and with buffers what lies in their
// memory.
func printPlan(m *training.MemoryPlan, k *term.Console, buffers bool) error {
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(m)
	}
	if err := planAnswers(m, k.Out); err != nil {
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
		if err := bufferTable(&d, k.Out); err != nil {
			return err
		}
	}
	if m.Process != nil {
		return usesTable("host memory", m.Process, k.Out)
	}
	return nil
}

// planAnswers says what is asked of a plan: whether the run fits, how long an epoch takes, on which devices it is fastest and by how
// much, and what memory it takes.
func planAnswers(m *training.MemoryPlan, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	verdict := "yes"
	var lacking []string
	for _, d := range m.Devices {
		if !d.Fits {
			lacking = append(lacking, fmt.Sprintf("%s lacks %s", d.Device, term.Size(d.Peak-d.Budget)))
		}
	}
	if !m.Room.Fits() {
		lacking = append(lacking, "the host lacks "+term.Size(m.Room.Need-m.Room.May))
	}
	if lacking != nil {
		verdict = "no, it does not fit: " + strings.Join(lacking, ", ")
	}
	fmt.Fprintf(t, "fits\t%s\n", verdict)
	switch all := onAllDevices(m); {
	case all != nil:
		fmt.Fprintf(t, "epoch\t%s predicted, %s of transfers in it, %s moved\n", term.Duration(&all.EpochS), term.Duration(&all.CommS), term.Size(all.Bytes))
	default:
		fmt.Fprintf(t, "epoch\tnot predicted: this device is not measured: run `capgnn profile --devices %s`\n", m.Devices[0].Device)
	}
	if len(m.Subsets) > 1 {
		best, text := m.Subsets[0], "none of them fits"
		if best.Fits {
			text = fmt.Sprintf("%s: %s, %s times as fast as the fastest device alone", devices.InWords(strings.Join(best.Devices, ",")), term.Duration(&best.EpochS), number.Ratio.Text(best.Speedup))
		}
		fmt.Fprintf(t, "best choice\t%s\n", text)
		if best.Fits && best.Doubtful() {
			fmt.Fprintf(t, "doubtful\t%s\n", doubt(&best))
		}
	}
	if m.Staleness != nil {
		fmt.Fprintf(t, "staleness\t%s\n", m.Staleness)
	}
	if all := onAllDevices(m); all != nil && all.GradientBytes > 0 {
		fmt.Fprintf(t, "gradients\t%s of the transfers: %s with the new weights\n", term.Duration(&all.GradientS), term.Size(all.GradientBytes))
	}
	for i, d := range m.Devices {
		name := ""
		if i == 0 {
			name = "memory"
		}
		held := ""
		if m.Held != nil {
			held = fmt.Sprintf("; parts held together would take %s", term.Size(m.Held[i]))
		}
		fmt.Fprintf(t, "%s\t%s: %s of %s%s\n", name, d.Device, term.Size(d.Peak), term.Size(d.Budget), held)
	}
	for i, s := range m.Streamed {
		if s.Parts > 0 {
			fmt.Fprintf(t, "turns\t%s of %s in %s: %s go up and %s down in an epoch\n", term.Counted(s.Parts, "part"),
				m.Devices[i].Device, term.Size(s.Window), term.Size(s.Up), term.Size(s.Down))
		}
	}
	if m.Streamed != nil {
		fmt.Fprintf(t, "host memory\ttables of rows %s, what is not on devices %s\n", term.Size(m.Host.Staging),
			term.Size(m.HostCopies))
	} else if h := m.Host; h.Cache+h.Staging > 0 {
		fmt.Fprintf(t, "host memory\tcache %s, rows on their way %s, page-locked\n", term.Size(h.Cache), term.Size(h.Staging))
	}
	if p := m.Process; p != nil {
		fmt.Fprintf(t, "host memory\tat most %s\n", term.Size(p.Bound))
	}
	if c := m.Caches; c != nil {
		fmt.Fprintf(t, "cache\t%s\n", c)
	}
	if e := m.Encoding; e != nil {
		fmt.Fprintf(t, "encoding\t%s\n", e)
	}
	return t.Flush()
}

// doubt says that a forecast promises more than the sum of what there is.
func doubt(s *training.Subset) string {
	return fmt.Sprintf("more than their sum, %s: run `capgnn profile` on an idle machine", number.Ratio.Text(s.Sum))
}

// onAllDevices returns what the run would take on all its devices, nil where that was not told.
func onAllDevices(m *training.MemoryPlan) *training.Subset {
	for i := range m.Subsets {
		if len(m.Subsets[i].Devices) == len(m.Devices) {
			return &m.Subsets[i]
		}
	}
	return nil
}

// bufferTable writes what lies in the memory of the device.
func bufferTable(d *training.DeviceMemory, w io.Writer) error {
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

// moreThanSum marks forecasts that are doubtful.
const moreThanSum = "more than the sum"

// subsetTable prints what every choice of devices would take.
func subsetTable(w io.Writer, choices []training.Subset) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "devices\tepoch\ttransfers\tmoved\tmost memory\tspeed-up\t")
	for _, s := range choices {
		note := ""
		if !s.Fits {
			note = "does not fit"
		} else if s.Doubtful() {
			note = moreThanSum
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s of %s\t%s\t%s\n", devices.InWords(strings.Join(s.Devices, ",")), term.Duration(&s.EpochS), term.Duration(&s.CommS), term.Size(s.Bytes),
			term.Size(s.Peak), term.Size(s.Budget), number.Ratio.Text(s.Speedup), note)
	}
	return t.Flush()
}
