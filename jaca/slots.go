package jaca

// Slots returns the number of global and local slots of the exchange, over all parts.
func (t *Table) Slots() int {
	n := len(t.Global)
	for i := range t.Readers {
		n += len(t.Readers[i].Local)
	}
	return n
}
