package window

import (
	"reflect"

	"capgnn/gpu"
)

// place is where an operand says that it lies, to be read and changed.
type place struct {
	buf    *gpu.Buffer
	off    *int      // in elements
	size   gpu.Bytes // of an element
	lo, hi gpu.Bytes
	solid  bool // it has all bytes between them, but for padding
}

// placeOf returns that of an argument; false: it is no operand in memory.
func (s *Space) placeOf(arg any) (place, bool) {
	switch a := arg.(type) {
	case *gpu.Matrix:
		size, span := gpu.Bytes(a.Type.Size()), gpu.Bytes(a.Span())
		lo := size * gpu.Bytes(a.Off)
		gap := size * gpu.Bytes(a.LD-a.Cols)
		return place{&a.Buf, &a.Off, size, lo, lo + size*span, a.Rows < 2 || gap == 0 || gap < s.w.dev.Info().RowAlign}, true
	case *gpu.Vec:
		return array(a), true
	case *gpu.Ints:
		return array(a), true
	case *gpu.Array[int64]:
		return array(a), true
	case *gpu.Array[float64]:
		return array(a), true
	case *gpu.Array[uint8]:
		return array(a), true
	}
	return place{}, false
}

func array[T gpu.Element](a *gpu.Array[T]) place {
	size := gpu.Bytes(reflect.TypeFor[T]().Size())
	lo := size * gpu.Bytes(a.Off)
	return place{&a.Buf, &a.Off, size, lo, lo + size*gpu.Bytes(a.Len), true}
}

// each calls f for the operands among arguments, which are pointers, and in the structs that these are.
func (s *Space) each(f func(arg any, p place), args ...any) {
	for _, arg := range args {
		if p, ok := s.placeOf(arg); ok {
			f(arg, p)
			continue
		}
		v := reflect.ValueOf(arg).Elem()
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			continue
		}
		for k := range v.NumField() {
			s.each(f, v.Field(k).Addr().Interface())
		}
	}
}

// output is what an operation writes: an argument, or rows lo to hi of it.
type output struct {
	arg  any
	rows *gpu.Matrix // nil: all
	adds bool        // it is read, too
}

func over(args ...any) (list []output) {
	for _, a := range args {
		list = append(list, output{arg: a})
	}
	return list
}

// added is over of what an operation adds to, if it adds.
func added(adds bool, args ...any) (list []output) {
	for _, a := range args {
		list = append(list, output{arg: a, adds: adds})
	}
	return list
}

// rowsOf is over of some rows of matrices.
func rowsOf(lo, hi int, args ...*gpu.Matrix) (list []output) {
	for _, a := range args {
		m := *a
		if !m.Empty() {
			m = m.RowRange(lo, hi)
		}
		list = append(list, output{arg: a, rows: &m})
	}
	return list
}

// op runs an operation, whose arguments are pointers, with operands in the window. ignored is an argument that it
// neither reads nor writes.
func (q *queue) op(run func(), args []any, writes []output, ignored ...any) {
	s := q.s
	if s.script == nil {
		reads, written := set{}, set{}
		s.each(func(arg any, p place) {
			b, mine := (*p.buf).(*block)
			if !mine || p.lo >= p.hi {
				return
			}
			for _, x := range ignored {
				if x == arg {
					return
				}
			}
			for _, x := range writes {
				if x.arg != arg {
					continue
				}
				if x.rows != nil {
					p, _ = s.placeOf(x.rows)
				}
				written.add(b, p.lo, p.hi)
				if !x.adds && p.solid {
					return
				}
			}
			reads.add(b, p.lo, p.hi)
		}, args...)
		if s.notes != nil {
			s.notes.note(reads, written)
			return
		}
		s.bring(reads, written)
	}
	s.each(func(_ any, p place) {
		if b, mine := (*p.buf).(*block); mine {
			*p.buf = s.w.buf
			*p.off += int(b.at / p.size)
		}
	}, args...)
	if s.err == nil {
		run()
	}
}
