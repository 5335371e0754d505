package jaca

// Ages count the rows that were used, by their age in epochs. One Ages belongs to one exchange, or to one goroutine; Add puts
// them together.
type Ages struct {
	Rows    int64 // row uses
	Sum     int64 // of their ages, in epochs
	AtBound int64 // of the rows those as old as allowed, where any age is
	Max     int   // greatest age, in epochs
}

// Use counts rows of one version that are used in an epoch, and returns an error, without counting, if that version is older
// than the bound allows or not made yet.
func (a *Ages) Use(rows, version, epoch, bound int) error {
	if err := CheckAge(version, epoch, bound); err != nil {
		return err
	}
	age := epoch - version
	a.Rows += int64(rows)
	a.Sum += int64(rows) * int64(age)
	if age == bound && bound > 0 {
		a.AtBound += int64(rows)
	}
	if rows > 0 {
		a.Max = max(a.Max, age)
	}
	return nil
}

// Add adds what another counted.
func (a *Ages) Add(o Ages) {
	a.Rows += o.Rows
	a.Sum += o.Sum
	a.AtBound += o.AtBound
	a.Max = max(a.Max, o.Max)
}

// Mean is the mean age of the rows used, in epochs; 0 without any.
func (a *Ages) Mean() float64 { return share(a.Sum, a.Rows) }

// ShareAtBound is the share of the rows used that were as old as allowed; 0 without any, and where none may be stale.
func (a *Ages) ShareAtBound() float64 { return share(a.AtBound, a.Rows) }

// ClassRows returns how many rows of each class a part reads in an exchange, and behind them how many that have no slot: what
// Ages.Use takes. Rows that have a global slot only belong to its class.
func (t *Table) ClassRows(part int) []int {
	n := make([]int, t.Period+1)
	t.Halos[part].each(func(_, k int) {
		class := t.Readers[part].Class[k]
		if class < 0 {
			class = int32(t.Period)
		}
		n[class]++
	})
	return n
}
