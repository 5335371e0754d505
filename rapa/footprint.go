package rapa

import "fmt"

// Footprint is the memory of a part in bytes, linear in its counts: Fixed + PerInner·|I| + PerHalo·|H| + PerEdge·|E|.
// It replaces the paper's |V|·m_vertex + |E|·m_edge + f_dim·m_feat + β (Eq. 15), which ignores buffers.
type Footprint struct {
	Fixed, PerInner, PerHalo, PerEdge int64
}

// Of returns the bytes of a part.
func (f Footprint) Of(n Counts) int64 {
	return f.Fixed + f.PerInner*n.Inner + f.PerHalo*n.Halo + f.PerEdge*n.Edges
}

// Memory limits the memory of parts. The zero value has no limits.
type Memory struct {
	Footprint Footprint
	Have      []int64 // bytes of each part's device, 0 = no limit; nil = no limits
}

// short returns the bytes that device i lacks for a part, 0 if it fits.
func (m Memory) short(i int, n Counts) int64 {
	if m.Have == nil || m.Have[i] == 0 {
		return 0
	}
	return max(0, m.Footprint.Of(n)-m.Have[i])
}

// Fits reports whether a part with these counts fits device i.
func (m Memory) Fits(i int, n Counts) bool { return m.short(i, n) == 0 }

// Check returns nil if part i fits device i for every i, else an *InfeasibleError that lists those which do not.
func (m Memory) Check(parts []Counts) error {
	e := &InfeasibleError{}
	for i, n := range parts {
		need := m.Footprint.Of(n)
		if m.Have == nil || m.Have[i] == 0 {
			continue
		}
		e.NeedBytes += need
		e.HaveBytes += m.Have[i]
		if need > m.Have[i] {
			s := Shortage{Part: i, NeedBytes: need, HaveBytes: m.Have[i], HaloRows: -1}
			if per := m.Footprint.PerHalo; per > 0 && (need-m.Have[i]+per-1)/per <= n.Halo {
				s.HaloRows = (need - m.Have[i] + per - 1) / per
			}
			e.Short = append(e.Short, s)
		}
	}
	if e.Short == nil {
		return nil
	}
	return e
}

func (m Memory) validate(parts int) error {
	if m.Have != nil && len(m.Have) != parts {
		return fmt.Errorf("memory of %d devices for %d parts: give one per part", len(m.Have), parts)
	}
	for i, b := range m.Have {
		if b < 0 {
			return fmt.Errorf("device of part %d has %d bytes", i, b)
		}
	}
	if f := m.Footprint; f.Fixed < 0 || f.PerInner < 0 || f.PerHalo < 0 || f.PerEdge < 0 {
		return fmt.Errorf("footprint %+v has a negative entry", f)
	}
	return nil
}

// Shortage is a part that does not fit its device.
type Shortage struct {
	Part                 int
	NeedBytes, HaveBytes int64
	// HaloRows is how many replicas have to be dropped so that the part fits, by the memory of their rows; -1 = all
	// are not enough.
	HaloRows int64
}

// InfeasibleError says that a graph does not fit its devices.
type InfeasibleError struct {
	NeedBytes int64 // what the parts need in sum, of those whose device has a limit
	HaveBytes int64 // what their devices have in sum
	// Short lists the parts that do not fit, ascending; nil if the sums already exceed the memory, so that no
	// partition was tried.
	Short []Shortage
}

// MoreBytes is the smallest change that would make it fit: the bytes that the devices lack, in sum.
func (e *InfeasibleError) MoreBytes() int64 {
	if e.Short == nil {
		return e.NeedBytes - e.HaveBytes
	}
	more := int64(0)
	for _, s := range e.Short {
		more += s.NeedBytes - s.HaveBytes
	}
	return more
}

func (e *InfeasibleError) Error() string {
	if e.Short == nil {
		return fmt.Sprintf("the parts need %d bytes and the devices have %d: add a device or %d bytes, or make the model smaller",
			e.NeedBytes, e.HaveBytes, e.MoreBytes())
	}
	text := ""
	for i, s := range e.Short {
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("part %d needs %d bytes and its device has %d", s.Part, s.NeedBytes, s.HaveBytes)
		if s.HaloRows > 0 {
			text += fmt.Sprintf(" (pruning %d halo rows would do)", s.HaloRows)
		}
	}
	return fmt.Sprintf("%s: add a device or %d bytes, or make the model smaller", text, e.MoreBytes())
}
