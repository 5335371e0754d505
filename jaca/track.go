package jaca

// Track keeps the sample rows of one exchange and owner as they were at the last two refreshes, and measures their drift since
// then.
type Track struct {
	Refreshed [2][]float32 // rows of the last refresh and of the one before, saved in checkpoints; nil = none yet
	// Gradients says that drift is GradientDrifts, not RowDrifts.
	Gradients bool
}

// Drifted is the relative drift of rows over some epochs.
type Drifted struct {
	Epochs int
	Rows   []float64
}

// Refreshes reports whether a period of a schedule ends in an epoch, or it starts: Take must not miss these epochs.
func Refreshes(epoch int, s Schedule) bool { return epoch >= s.Start && (epoch-s.Start)%s.Period == 0 }

// Forget drops what was kept: epochs have been left out since.
func (k *Track) Forget() { k.Refreshed = [2][]float32{} }

// Take returns the drift of the sample rows of an epoch, as the Controller wants it: at the end of a period since the last refresh
// and since the one before, within a period since the last one, at Start none. At the end of a period and at Start it keeps a
// copy of the rows. Calls within periods may be left out; they show a sudden drift at once.
func (k *Track) Take(epoch int, s Schedule, rows []float32, cols int) []Drifted {
	if epoch < s.Start {
		return nil
	}
	if epoch == s.Start {
		k.Forget()
	}
	since, ends := (epoch-s.Start)%s.Period, Refreshes(epoch, s)
	if ends {
		since = s.Period
	}
	var list []Drifted
	if k.Refreshed[0] != nil {
		list = append(list, Drifted{since, k.drifts(k.Refreshed[0], rows, cols)})
	}
	if ends && k.Refreshed[1] != nil {
		list = append(list, Drifted{2 * s.Period, k.drifts(k.Refreshed[1], rows, cols)})
	}
	if ends {
		k.Refreshed[0], k.Refreshed[1] = append(k.Refreshed[1][:0], rows...), k.Refreshed[0]
	}
	return list
}

func (k *Track) drifts(old, new []float32, cols int) []float64 {
	if k.Gradients {
		return GradientDrifts(old, new, cols)
	}
	return RowDrifts(old, new, cols)
}
