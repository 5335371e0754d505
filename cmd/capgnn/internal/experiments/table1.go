package experiments

import (
	"context"
	"fmt"
	"strconv"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/internal/bench"
	"capgnn/profiler"
)

// table1Experiment is Table 1: what devices need for a dense and a sparse product and for copies.
func table1Experiment() Experiment {
	return Experiment{Name: "table1", Usage: "Table 1: dense and sparse products and copies on the devices, and on the paper's cards",
		plan: planTable1}
}

var table1Columns = []struct {
	name string
	of   func(profiler.DeviceProfile) profiler.Timing
}{
	{"MM", func(d profiler.DeviceProfile) profiler.Timing { return d.MM }}, {"SpMM", func(d profiler.DeviceProfile) profiler.Timing { return d.SpMM }},
	{"H2D", func(d profiler.DeviceProfile) profiler.Timing { return d.H2D }}, {"D2H", func(d profiler.DeviceProfile) profiler.Timing { return d.D2H }},
	{"IDT", func(d profiler.DeviceProfile) profiler.Timing { return d.IDT }},
}

func planTable1(b *Bench, _ []string) ([]cell, func() bench.Section, error) {
	specs, err := b.deviceList("auto")
	if err != nil {
		return nil, nil, err
	}
	devices.ShareCores(specs, devices.Cores())
	cards, err := devices.Parse("sim:rtx3090,sim:a40,sim:rtx3060,sim:rtx2060,sim:gtx1660ti,sim:gtx1650")
	if err != nil {
		return nil, nil, err
	}
	var cells []cell
	for i, d := range append(specs, cards...) {
		id := bench.Cell{"kind": "profile", "device": d.String(), "quick": strconv.FormatBool(b.opt.Quick)}
		if i >= len(specs) {
			id["quick"] = "false"
		}
		cells = append(cells, cell{id, func(ctx context.Context) (*bench.Line, error) { return b.profileLine(ctx, d) }})
	}
	return cells, func() bench.Section { return b.showTable1(cells) }, nil
}

// profileLine measures one device, or reads its card.
func (b *Bench) profileLine(ctx context.Context, d devices.Spec) (*bench.Line, error) {
	l := newLine()
	row, err := profiler.DeviceProfile{}, error(nil)
	if d.Simulated() {
		card, err := d.SimCard()
		if err != nil {
			return nil, err
		}
		l.Values["n"] = float64(card.N)
		if row, err = d.ProfileRow(); err != nil {
			return nil, err
		}
	} else {
		p, err := devices.Measure(ctx, b.quietly(), []devices.Spec{d}, profiler.Options{Quick: b.opt.Quick})
		if err != nil {
			return nil, err
		}
		l.Values["n"], row = float64(p.N), p.Devices[0]
	}
	l.Text["model"] = row.Model
	for _, c := range table1Columns {
		t := c.of(row)
		l.Values[c.name], l.Values[c.name+"_deviation"] = t.Mean, t.Std
	}
	return l, err
}

func (b *Bench) showTable1(cells []cell) bench.Section {
	t := bench.Table{Columns: []string{"device", "n", "MM s", "SpMM s", "H2D s", "D2H s", "IDT s", "MM TFLOP/s", "H2D GB/s"},
		Note: "Matrices are n × n, float32; the sparse one has 0.4 % of its entries. Mean ± deviation of the runs; simulated cards are the paper's measurements (Table 1), for which n is 11585. Times grow with n³ (MM), n³ (SpMM) and n² (copies): compare rates, not times, of different n."}
	var groups []string
	var mm, h2d []float64
	for _, c := range cells {
		l := b.line(c.id)
		n := l.Value("n")
		row := []string{c.id["device"], fmt.Sprint(int(n))}
		for _, col := range table1Columns {
			text := fmt.Sprintf("%.4f", l.Value(col.name))
			if d := l.Value(col.name + "_deviation"); d > 0 {
				text += fmt.Sprintf(" ± %.4f", d)
			}
			row = append(row, text)
		}
		flops, rate := 2*n*n*n/l.Value("MM")/1e12, 4*n*n/l.Value("H2D")/1e9
		t.Add(append(row, fmt.Sprintf("%.3f", flops), fmt.Sprintf("%.2f", rate))...)
		groups, mm, h2d = append(groups, devices.InWords(c.id["device"])), append(mm, flops), append(h2d, rate)
	}
	return bench.Section{Title: "Table 1: what devices can do", Tables: []bench.Table{t},
		Figures: []bench.Figure{{Title: "Rates of dense products and of copies to the device", Panels: []bench.Panel{
			{Title: "dense product", Y: "rate, TFLOP/s", Groups: groups, Series: []bench.Series{{Name: "MM", Y: mm}}},
			{Title: "host to device", Y: "rate, GB/s", Groups: groups, Series: []bench.Series{{Name: "H2D", Y: h2d}}},
		}}}}
}
