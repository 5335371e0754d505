package profiler

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table returns the profile as text: a row per device with medians and deviations, then rates, then pairs.
func (p *Profile) Table() string {
	var b strings.Builder
	kind := "profile"
	if p.Quick {
		kind = "quick profile"
	}
	fmt.Fprintf(&b, "%s of %s, %s, n = %d, median ± deviation of %d runs\n", kind, p.Host, p.Time.Format("2006-01-02 15:04"),
		p.N, p.Devices[0].MM.Runs)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "device\tMM ms\tSpMM ms\tH2D ms\tD2H ms\tIDT ms\tGFLOP/s\tH2D GB/s\tfree GiB\tmodel")
	for i := range p.Devices {
		d := &p.Devices[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%.1f\t%.2f\t%.1f\t%s\n", d.Name, d.MM.cell(), d.SpMM.cell(), d.H2D.cell(),
			d.D2H.cell(), d.IDT.cell(), p.FlopsPerSec(d)/1e9, p.CopyBytesPerSec(d.H2D)/1e9, float64(d.FreeBytes)/(1<<30), d.Model)
	}
	w.Flush()
	for i := range p.Devices {
		d := &p.Devices[i]
		if d.PageableH2D != nil && d.PageableD2H != nil {
			fmt.Fprintf(&b, "%s with pageable memory: H2D %s ms, D2H %s ms\n", d.Name, d.PageableH2D.cell(), d.PageableD2H.cell())
		}
		if d.Link.Generation > 0 {
			fmt.Fprintf(&b, "%s: PCIe %d.0 × %d, up to %d.0 × %d\n", d.Name, d.Link.Generation, d.Link.Width,
				d.Link.MaxGeneration, d.Link.MaxWidth)
		}
	}
	if len(p.Pairs) > 0 {
		fmt.Fprintln(w, "from\tto\troute\tms\tGB/s")
		for _, q := range p.Pairs {
			route := "host"
			if q.Peer {
				route = "peer"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.2f\n", p.Devices[q.From].Name, p.Devices[q.To].Name, route, q.Copy.cell(),
				p.CopyBytesPerSec(q.Copy)/1e9)
		}
		w.Flush()
	}
	for _, line := range p.Implausible() {
		fmt.Fprintf(&b, "implausible: %s\n", line)
	}
	return b.String()
}

func (t Timing) cell() string { return fmt.Sprintf("%.3f ± %.3f", 1e3*t.Median, 1e3*t.Std) }
