package profiler

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"capgnn/internal/number"
)

// Table returns the profile as text of 80 columns: devices with their rates, then times by number of device, then pairs.
func (p *Profile) Table() string {
	var b strings.Builder
	kind := "profile"
	if p.Quick {
		kind = "quick profile"
	}
	fmt.Fprintf(&b, "%s of %s, %s, n = %d, median ± deviation of %d runs\n", kind, p.Host, p.Time.Format("2006-01-02 15:04"),
		p.N, p.Devices[0].MM.Runs)
	for i := range p.Devices {
		d := &p.Devices[i]
		fmt.Fprintf(&b, "%d  %s: %s\n   %s free, %.1f GFLOP/s, %s/s to the device\n", i+1, d.Name, d.Model,
			number.Bytes.Text(float64(d.FreeBytes)), p.FlopsPerSec(d)/1e9, number.Bytes.Text(p.CopyBytesPerSec(d.H2D)))
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ms\tMM\tSpMM\tH2D\tD2H\tIDT")
	for i := range p.Devices {
		d := &p.Devices[i]
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", i+1, d.MM.cell(), d.SpMM.cell(), d.H2D.cell(), d.D2H.cell(), d.IDT.cell())
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
		fmt.Fprintln(w, "from\tto\troute\tms\trate")
		for _, q := range p.Pairs {
			route := "host"
			if q.Peer {
				route = "peer"
			}
			fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s/s\n", q.From+1, q.To+1, route, q.Copy.cell(),
				number.Bytes.Text(p.CopyBytesPerSec(q.Copy)))
		}
		w.Flush()
	}
	for _, line := range p.Implausible() {
		fmt.Fprintf(&b, "implausible: %s\n", line)
	}
	for _, line := range p.Falls() {
		fmt.Fprintf(&b, "implausible: %s: measure again while nothing else runs\n", line)
	}
	if p.Load != nil {
		fmt.Fprintf(&b, "%s\n", p.LoadText())
	}
	return b.String()
}

// LoadText says how busy the machine was, "" if unknown.
func (p *Profile) LoadText() string {
	if p.Load == nil {
		return ""
	}
	return fmt.Sprintf("other programs kept %s of the machine's processors busy while it was measured", number.Share.Text(*p.Load))
}

// Busy reports whether other programs used so much that times are unreliable.
func (p *Profile) Busy() bool { return p.Load != nil && *p.Load > 0.1 }

// cell is the time in milliseconds, to a microsecond where it is short.
func (t Timing) cell() string {
	ms, deviation := 1e3*t.Median, 1e3*t.Std
	decimals := 3
	for x := ms; x >= 10 && decimals > 0; x /= 10 {
		decimals--
	}
	return fmt.Sprintf("%.*f ± %.*f", decimals, ms, decimals, deviation)
}
