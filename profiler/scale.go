package profiler

// At returns p for matrices of n rows, if the rates of all operations stay the same: machines of different speed are
// measured with matrices of different sizes, but a plan compares their times. Calibration is unchanged.
func (p *Profile) At(n int) *Profile {
	if n == p.N {
		return p
	}
	q := *p
	q.N, q.Entries, q.Devices, q.Pairs = n, entries(n), nil, nil
	side := float64(n) / float64(p.N)
	area, product := side*side, side*side*side
	gather := side * float64(q.Entries) / float64(p.Entries)
	for _, d := range p.Devices {
		d.MM, d.SpMM = d.MM.times(product), d.SpMM.times(gather)
		d.H2D, d.D2H, d.IDT = d.H2D.times(area), d.D2H.times(area), d.IDT.times(area)
		for _, t := range []**Timing{&d.PageableH2D, &d.PageableD2H} {
			if *t != nil {
				scaled := (*t).times(area)
				*t = &scaled
			}
		}
		q.Devices = append(q.Devices, d)
	}
	for _, pair := range p.Pairs {
		pair.Copy = pair.Copy.times(area)
		q.Pairs = append(q.Pairs, pair)
	}
	return &q
}
