package report

import "fmt"

// energySection lists what meters have read; of runs without them nothing.
func (r *Run) energySection() (section, bool) {
	if r.Result == nil || len(r.Result.Meters) == 0 {
		return section{}, false
	}
	out := &table{ID: "energy", Columns: []string{"device", "energy", "an epoch", "power", "busy", "memory busy"},
		Note: "Of whole cards and packages of processors, whoever else used them, from the first epoch to the last one, evaluations between them included. Busy: shares of time, by the driver's last period behind each epoch."}
	for _, m := range r.Result.Meters {
		row := []string{m.Device, "not known", "", ""}
		if len(r.Result.Hosts) > 0 {
			row[0] = r.rankName(m.Rank) + " · " + m.Device
		}
		if m.Joules != nil {
			row = []string{row[0], joules(*m.Joules), joules(*m.Joules / float64(max(1, r.Result.Epochs))), fmt.Sprintf("%.4g\u00a0W", *m.Joules/m.Seconds)}
		}
		if m.Busy != nil {
			row = append(row, written(share, *m.Busy), written(share, or(m.MemoryBusy)))
		}
		out.Rows = append(out.Rows, row)
	}
	return sectionOf("Energy", "", out)
}

// joules writes an energy.
func joules(x float64) string { return fmt.Sprintf("%.4g\u00a0J", x) }
