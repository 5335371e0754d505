package pickle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"capgnn/internal/npy"
	"capgnn/internal/room"
)

// machine runs the part of the pickle machine (protocol 2) that Planetoid files need: the opcodes below and six globals.
// Nothing is ever called; a REDUCE builds one of four known things. Every opcode pushes at most one value, and the bytes
// of arrays stay in the file, so memory is proportional to what else is in it.
//
// Values: int64, bool, nil, str (short Python 2 strings), blob (long ones), tuple, *List, *Dict, global, *Array, *Type, *CSR.
//
// Source: Python's pickletools.py.
type machine struct {
	file  io.ReaderAt
	size  int64
	buf   []byte // of the file, from byte base on
	base  int64
	pos   int64 // in the file
	stack []any
	marks []int // stack heights
	memo  map[uint32]any

	pushed int64 // values so far
}

type (
	tuple []any
	// List is numbers as long as it holds nothing else.
	List struct {
		Numbers []int64
		Items   []any
	}
	Dict   struct{ Keys, Values []any }
	global string
	// str is a string of at most longString bytes.
	str string
	// blob is a longer one, which stays in the file.
	blob struct {
		file  io.ReaderAt
		begin int64
		size  int64
	}
)

const (
	longString = 256
	bufferSize = 1 << 16
	stride     = 1 << 19 // values between two questions for memory
	// maxStack is how many values may wait to be collected. Python fills lists and dicts in batches of 1,000.
	maxStack = 1 << 16
	// maxMarks is how deep marks may lie in each other. Planetoid files need four.
	maxMarks = 1 << 10
)

// Read decodes the whole of r, which has size bytes. Faults are *npy.FormatError with the byte of the opcode. What it
// returns reads from r.
func Read(file string, r io.ReaderAt, size int64) (any, error) {
	u := &machine{file: r, size: size, memo: map[uint32]any{}}
	for {
		at := u.pos
		op, err := u.take(1)
		if err == nil && op[0] == '.' {
			return u.result(file, at)
		}
		if err == nil {
			err = u.step(op[0])
		}
		if err != nil {
			return nil, &npy.FormatError{File: file, Offset: at, Err: err}
		}
	}
}

// result ends a pickle at its STOP.
func (u *machine) result(file string, at int64) (any, error) {
	v, err := u.pop()
	switch {
	case err != nil:
	case u.pos != u.size:
		err = fmt.Errorf("%d bytes after the end of the pickle", u.size-u.pos)
	case len(u.stack) != 0:
		err = errors.New("pickle ends with values left over")
	default:
		return v, nil
	}
	return nil, &npy.FormatError{File: file, Offset: at, Err: err}
}

// skip goes n bytes on.
func (u *machine) skip(n int64) error {
	if n < 0 || n > u.size-u.pos {
		return fmt.Errorf("pickle is truncated: %d bytes wanted, %d left", n, u.size-u.pos)
	}
	u.pos += n
	return nil
}

// take returns the next n bytes of the file, at most pickleBuffer, valid until the next call.
func (u *machine) take(n int) ([]byte, error) {
	if err := u.skip(int64(n)); err != nil {
		return nil, err
	}
	if begin := u.pos - int64(n); begin < u.base || u.pos > u.base+int64(len(u.buf)) {
		if u.buf == nil {
			u.buf = make([]byte, bufferSize)
		}
		u.base = begin
		u.buf = u.buf[:min(bufferSize, u.size-begin)]
		if got, err := u.file.ReadAt(u.buf, begin); got < len(u.buf) {
			u.buf = u.buf[:0]
			return nil, fmt.Errorf("read the pickle: %w", err)
		}
	}
	return u.buf[u.pos-int64(n)-u.base : u.pos-u.base], nil
}

// uint reads a little-endian number of 1, 2 or 4 bytes.
func (u *machine) uint(n int) (uint32, error) {
	b, err := u.take(n)
	if err != nil {
		return 0, err
	}
	var wide [4]byte
	copy(wide[:], b)
	return binary.LittleEndian.Uint32(wide[:]), nil
}

// push puts a value on the stack. Now and then it makes sure that memory for more can be had: a byte of the file makes a
// value of up to 80 bytes.
func (u *machine) push(v any) error {
	if u.pushed++; u.pushed%stride == 0 {
		// What has been collected may double when a list grows.
		if err := room.For(int64(stride)*256 + 32*u.pushed); err != nil {
			return err
		}
	}
	if len(u.stack) == maxStack {
		return fmt.Errorf("pickle keeps more than %d values waiting", maxStack)
	}
	u.stack = append(u.stack, v)
	return nil
}

// pop takes the top value; values below the last mark are out of reach.
func (u *machine) pop() (any, error) {
	floor := 0
	if len(u.marks) > 0 {
		floor = u.marks[len(u.marks)-1]
	}
	if len(u.stack) <= floor {
		return nil, errors.New("pickle takes a value from an empty stack")
	}
	v := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	return v, nil
}

// popMark takes the values above the last mark, and the mark.
func (u *machine) popMark() ([]any, error) {
	if len(u.marks) == 0 {
		return nil, errors.New("pickle goes back to a mark that is not there")
	}
	floor := u.marks[len(u.marks)-1]
	u.marks = u.marks[:len(u.marks)-1]
	items := u.stack[floor:]
	u.stack = u.stack[:floor]
	return items, nil
}

// step runs one opcode that is not STOP.
func (u *machine) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		v, err := u.uint(1)
		if err == nil && v != 2 {
			err = fmt.Errorf("pickle of protocol %d, want 2", v)
		}
		return err
	case 'N': // NONE
		return u.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return u.push(op == 0x88)
	case 'J', 'K', 'M': // BININT, BININT1, BININT2
		return u.number(op)
	case 'T', 'U': // BINSTRING, SHORT_BINSTRING
		return u.text(op)
	case 'c': // GLOBAL
		return u.global()
	case '(': // MARK
		if len(u.marks) == maxMarks {
			return fmt.Errorf("pickle nests more than %d deep", maxMarks)
		}
		u.marks = append(u.marks, len(u.stack))
		return nil
	case ')', ']', '}', 't', 0x85, 0x86, 0x87, 'a', 'e', 'u':
		return u.collect(op)
	case 'q', 'r', 'h', 'j':
		return u.remember(op)
	case 0x81, 'R', 'b':
		return u.object(op)
	}
	return fmt.Errorf("pickle opcode %#02x does not occur in Planetoid files", op)
}

func (u *machine) number(op byte) error {
	size := map[byte]int{'J': 4, 'K': 1, 'M': 2}[op]
	v, err := u.uint(size)
	if err != nil {
		return err
	}
	if op == 'J' {
		return u.push(int64(int32(v)))
	}
	return u.push(int64(v))
}

func (u *machine) text(op byte) error {
	size := 4
	if op == 'U' {
		size = 1
	}
	n, err := u.uint(size)
	if err != nil {
		return err
	}
	if int64(n) > longString {
		if err := u.skip(int64(int32(n))); err != nil {
			return err
		}
		return u.push(blob{u.file, u.pos - int64(n), int64(n)})
	}
	s, err := u.take(int(n))
	if err != nil {
		return err
	}
	return u.push(str(s))
}

// knownGlobals are the names a Planetoid pickle may refer to.
var knownGlobals = map[global]bool{
	"scipy.sparse.csr csr_matrix": true, "numpy.core.multiarray _reconstruct": true, "numpy ndarray": true,
	"numpy dtype": true, "collections defaultdict": true, "__builtin__ list": true,
}

func (u *machine) global() error {
	var name [2]string
	for i := range name {
		const longest = 100
		b, err := u.take(int(min(longest+1, u.size-u.pos)))
		if err != nil {
			return err
		}
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			return errors.New("pickle names a global that does not end")
		}
		name[i] = string(b[:end])
		u.pos -= int64(len(b) - end - 1)
	}
	g := global(name[0] + " " + name[1])
	if !knownGlobals[g] {
		return fmt.Errorf("pickle refers to %q, which does not occur in Planetoid files", string(g))
	}
	return u.push(g)
}

// remember runs the opcodes of the memo: BINPUT, LONG_BINPUT, BINGET, LONG_BINGET.
func (u *machine) remember(op byte) error {
	size := 1
	if op == 'r' || op == 'j' {
		size = 4
	}
	key, err := u.uint(size)
	if err != nil {
		return err
	}
	if op == 'h' || op == 'j' {
		v, ok := u.memo[key]
		if !ok {
			return fmt.Errorf("pickle asks for value %d of its memo, which is not there", key)
		}
		return u.push(v)
	}
	v, err := u.pop()
	if err != nil {
		return err
	}
	u.memo[key] = v
	return u.push(v)
}

// collect runs the opcodes that make and fill tuples, lists and dicts.
func (u *machine) collect(op byte) error {
	switch op {
	case ')':
		return u.push(tuple{})
	case ']':
		return u.push(&List{})
	case '}':
		return u.push(&Dict{})
	case 't':
		items, err := u.popMark()
		if err != nil {
			return err
		}
		return u.push(append(tuple{}, items...))
	case 0x85, 0x86, 0x87: // TUPLE1 to TUPLE3
		t := make(tuple, op-0x84)
		for i := len(t) - 1; i >= 0; i-- {
			v, err := u.pop()
			if err != nil {
				return err
			}
			t[i] = v
		}
		return u.push(t)
	}
	return u.fill(op)
}

// fill runs APPEND, APPENDS and SETITEMS. The container stays on the stack.
func (u *machine) fill(op byte) error {
	var items []any
	if op == 'a' {
		v, err := u.pop()
		if err != nil {
			return err
		}
		items = []any{v}
	} else {
		var err error
		if items, err = u.popMark(); err != nil {
			return err
		}
	}
	into, err := u.pop()
	if err != nil {
		return err
	}
	switch c := into.(type) {
	case *List:
		if op == 'u' {
			return errors.New("pickle sets keys of a list")
		}
		c.add(items)
	case *Dict:
		if op != 'u' || len(items)%2 != 0 {
			return errors.New("pickle fills a dict with something other than pairs")
		}
		for i := 0; i < len(items); i += 2 {
			c.Keys, c.Values = append(c.Keys, items[i]), append(c.Values, items[i+1])
		}
	default:
		return errors.New("pickle fills something that is neither list nor dict")
	}
	return u.push(into)
}

// add appends to a list.
func (l *List) add(items []any) {
	for _, item := range items {
		if v, ok := item.(int64); ok && l.Items == nil {
			l.Numbers = append(l.Numbers, v)
			continue
		}
		for _, v := range l.Numbers {
			l.Items = append(l.Items, v)
		}
		l.Numbers, l.Items = nil, append(l.Items, item)
	}
}
