package formats

import (
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/room"
)

// roles are the keys of role.json in the order of Dataset.Masks.
var roles = [3]string{"tr", "va", "te"}

// readRoles reads role.json into the masks of n vertices.
func readRoles(d *dataset.Dataset, path string, watch dataset.Watch, n int) error {
	return textfile.Scan(path, watch, func(s *textfile.Scanner, _ int64) error { return scanRoles(d, s, n) })
}

// scanRoles reads {"tr": [ids], "va": [ids], "te": [ids]}. "tr" is needed.
func scanRoles(d *dataset.Dataset, s *textfile.Scanner, n int) error {
	if err := s.Want('{'); err != nil {
		return err
	}
	for k := 0; ; k++ {
		if more, err := s.Next(k, '}'); err != nil {
			return err
		} else if !more {
			break
		}
		key, at, err := s.Key()
		if err != nil {
			return err
		}
		var mask *[]bool
		for i, role := range roles {
			if key == role {
				mask = d.Masks()[i].Of
			}
		}
		if mask == nil {
			return s.Fault(at, "%q is none of the roles tr, va and te", key)
		}
		if *mask != nil {
			return s.Fault(at, "%q occurs twice", key)
		}
		if *mask, err = vertexList(s, n); err != nil {
			return err
		}
	}
	if d.Train == nil {
		return s.Fault(-1, `has no list "tr" of training vertices`)
	}
	return s.Finish()
}

// vertexList reads a list of different vertices as a mask.
func vertexList(s *textfile.Scanner, n int) ([]bool, error) {
	if err := s.Want('['); err != nil {
		return nil, err
	}
	mask := make([]bool, n)
	for k := 0; ; k++ {
		if more, err := s.Next(k, ']'); err != nil || !more {
			return mask, err
		}
		number, at, err := s.Whole()
		if err != nil {
			return nil, err
		}
		v, err := s.Vertex(number, at, n)
		if err != nil {
			return nil, err
		}
		if mask[v] {
			return nil, s.Fault(at, "vertex %d is listed twice", v)
		}
		mask[v] = true
	}
}

// readClassMap reads class_map.json: one class per vertex, or a list of 0 and 1 per vertex.
func readClassMap(d *dataset.Dataset, path string, watch dataset.Watch, n int) error {
	return textfile.Scan(path, watch, func(s *textfile.Scanner, size int64) error { return scanClassMap(d, s, size, n) })
}

// classMap is what has been read of class_map.json.
type classMap struct {
	s       *textfile.Scanner
	size    int64   // bytes of the file
	n       int     // vertices
	labels  []int32 // single-label; nil before the first number
	targets []uint8 // multi-label; nil before the first list
	classes int
}

// scanClassMap reads {"id": value, …} of size bytes. The first value decides: one whole number per vertex, where -1 and a
// missing vertex mean unlabelled, or a list of 0 and 1 per vertex, all of one length and none missing. So the memory for
// targets is bounded by the file, which needs two bytes for each of them.
func scanClassMap(d *dataset.Dataset, s *textfile.Scanner, size int64, n int) error {
	m := &classMap{s: s, size: size, n: n}
	if err := s.Want('{'); err != nil {
		return err
	}
	seen, count := make([]bool, n), 0
	for {
		if more, err := s.Next(count, '}'); err != nil {
			return err
		} else if !more {
			break
		}
		v, at, err := s.VertexKey(n)
		if err != nil {
			return err
		}
		if seen[v] {
			return s.Fault(at, "vertex %d occurs twice", v)
		}
		seen[v] = true
		count++
		if err := m.value(v); err != nil {
			return err
		}
	}
	if err := s.Finish(); err != nil {
		return err
	}
	if m.classes == 0 {
		return s.Fault(-1, "gives no vertex a class")
	}
	for v, ok := range seen {
		if !ok && m.targets != nil {
			return s.Fault(-1, "vertex %d is missing; a multi-label map needs every vertex", v)
		}
	}
	d.Labels, d.Targets, d.Classes = m.labels, m.targets, m.classes
	if unlabelled := check.CountOf(d.Labels, -1); unlabelled > 0 {
		d.Note("vertices without a label: %d", unlabelled)
	}
	return nil
}

// value reads what vertex v is mapped to.
func (m *classMap) value(v int) error {
	s := m.s
	s.Space()
	if s.Byte == '[' {
		if m.labels != nil {
			return s.Fault(s.At, "vertex %d has a list of labels, those before it have one class", v)
		}
		if m.targets == nil {
			return m.firstList(v)
		}
		return m.list(v, m.targets[v*m.classes:(v+1)*m.classes])
	}
	y, at, err := s.Whole()
	if err != nil {
		return err
	}
	if m.targets != nil {
		return s.Fault(at, "vertex %d has one class, those before it have a list of %d labels", v, m.classes)
	}
	if m.labels == nil {
		m.labels = make([]int32, m.n)
		for i := range m.labels {
			m.labels[i] = -1
		}
	}
	if limit := check.MaxClasses(m.n); y < -1 || y >= limit {
		return s.Fault(at, "vertex %d: label %d is outside [-1, %d)", v, y, limit)
	}
	m.labels[v] = int32(y)
	m.classes = max(m.classes, int(y)+1)
	return nil
}

// firstList reads the list that says how many labels there are, and makes room for all vertices if the file is long
// enough to hold them.
func (m *classMap) firstList(v int) error {
	at := m.s.At
	if err := m.s.Want('['); err != nil {
		return err
	}
	var row []uint8
	for {
		more, err := m.s.Next(len(row), ']')
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if int64(len(row)) == check.MaxClasses(m.n) {
			return m.s.Fault(m.s.At, "vertex %d has more than %d labels", v, len(row))
		}
		y, err := m.bit(v, len(row))
		if err != nil {
			return err
		}
		row = append(row, y)
	}
	if len(row) == 0 {
		return m.s.Fault(at, "vertex %d has an empty list of labels", v)
	}
	if needed := 2 * int64(m.n) * int64(len(row)); needed > m.size {
		return m.s.Fault(at, "vertex %d has %d labels; as many for each of %d vertices do not fit the file of %d bytes", v, len(row), m.n, m.size)
	}
	if err := room.For(int64(m.n) * int64(len(row))); err != nil {
		return m.s.Fault(at, "vertex %d has %d labels: %w", v, len(row), err)
	}
	m.classes = len(row)
	m.targets = make([]uint8, m.n*m.classes)
	copy(m.targets[v*m.classes:], row)
	return nil
}

// list reads as many labels as row has.
func (m *classMap) list(v int, row []uint8) error {
	if err := m.s.Want('['); err != nil {
		return err
	}
	for k := 0; ; k++ {
		at := m.s.At
		more, err := m.s.Next(k, ']')
		switch {
		case err != nil:
			return err
		case more == (k == len(row)):
			if more {
				return m.s.Fault(at, "vertex %d has more than %d labels, those before it have so many", v, len(row))
			}
			return m.s.Fault(at, "vertex %d has %d labels, those before it have %d", v, k, len(row))
		case !more:
			return nil
		}
		if row[k], err = m.bit(v, k); err != nil {
			return err
		}
	}
}

// bit reads one label of a list.
func (m *classMap) bit(v, class int) (uint8, error) {
	y, at, err := m.s.Whole()
	if err != nil {
		return 0, err
	}
	if y != 0 && y != 1 {
		return 0, m.s.Fault(at, "vertex %d, class %d: %d is neither 0 nor 1", v, class, y)
	}
	return uint8(y), nil
}
