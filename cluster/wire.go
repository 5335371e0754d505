package cluster

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Protocol is the version of the messages between ranks. Ranks of different versions do not join.
const Protocol = 1

// Sizes of the wire format, in bytes.
const (
	HeaderBytes = 32
	// MaxFrame bounds the length of a data frame or a piece of a long message: 256 KiB take 2 ms on a gigabit link,
	// which is the longest time that an urgent frame waits for one that has begun.
	MaxFrame = 256 << 10
	// MaxFirst bounds the first bytes of a long message, which are sent before its reader asks for the rest.
	MaxFirst = 64 << 10
	// MaxJSON bounds the facts of a rank when it joins, and those that rank 0 sends of all.
	MaxJSON = 16 << 20
	// MaxText bounds a fault or a verdict.
	MaxText = 64 << 10
	// MaxArea bounds an area, so that sums of offsets and lengths cannot overflow.
	MaxArea = 1 << 47
)

// Kind is the kind of a frame.
type Kind uint8

// The frames of data connections (Rows, Open, Taken), of control connections (the others), and of both (Beat, Bye).
const (
	Beat    Kind = 1 + iota // a sign of life
	Bye                     // the sender sends no more rows and no more messages
	Rows                    // Length bytes of Area at Offset, of the message of Epoch
	Open                    // the reader has registered Area, of Offset bytes: the first message may come
	Taken                   // the reader has taken the message of Epoch in Area: the next one may come
	Join                    // JSON: what a rank says of itself
	Welcome                 // JSON: who the members are
	Refuse                  // text: why there will be no run; Area 1: a rank was lost
	Ready                   // the rank has all its data connections
	Start                   // all ranks are ready
	Fault                   // JSON: a rank reports a fault to rank 0
	Verdict                 // text: why the run ends, from rank 0 to all
	Begin                   // a message with tag Area of Offset bytes: their SHA-256, then the first of them
	More                    // the next bytes of that message
	Ask                     // the reader wants the rest of the message with tag Area, and has room for another
	kinds
)

// limit is the largest Length of a frame of this kind.
func (k Kind) limit() uint32 {
	switch k {
	case Rows, More:
		return MaxFrame
	case Begin:
		return 32 + MaxFirst
	case Join, Welcome:
		return MaxJSON
	case Refuse, Fault, Verdict:
		return MaxText
	}
	return 0
}

// Header precedes every frame. Fields that a kind does not use are 0.
type Header struct {
	Kind   Kind
	Area   uint32
	Epoch  uint32
	Offset uint64
	Length uint32 // bytes that follow
	// Sum is the CRC-32C of the 28 bytes before it and of the bytes that follow, on connections that TLS does not protect; else 0.
	Sum uint32
}

var magic = [4]byte{'c', 'g', 'n', 'f'}

// Put writes h: magic, kind, three zero bytes, area, epoch, offset, length, sum.
func (h Header) Put(b *[HeaderBytes]byte) {
	copy(b[:], magic[:])
	binary.LittleEndian.PutUint32(b[4:], uint32(h.Kind))
	binary.LittleEndian.PutUint32(b[8:], h.Area)
	binary.LittleEndian.PutUint32(b[12:], h.Epoch)
	binary.LittleEndian.PutUint64(b[16:], h.Offset)
	binary.LittleEndian.PutUint32(b[24:], h.Length)
	binary.LittleEndian.PutUint32(b[28:], h.Sum)
}

// ParseHeader is the inverse of Put. It returns an error for headers that no rank sends: another magic, an unknown
// kind, a length or an offset above its bound.
func ParseHeader(b *[HeaderBytes]byte) (Header, error) {
	kind := binary.LittleEndian.Uint32(b[4:])
	h := Header{
		Kind:   Kind(kind),
		Area:   binary.LittleEndian.Uint32(b[8:]),
		Epoch:  binary.LittleEndian.Uint32(b[12:]),
		Offset: binary.LittleEndian.Uint64(b[16:]),
		Length: binary.LittleEndian.Uint32(b[24:]),
		Sum:    binary.LittleEndian.Uint32(b[28:]),
	}
	switch {
	case [4]byte(b[:4]) != magic:
		return Header{}, fmt.Errorf("a frame begins with %x in place of %x", b[:4], magic[:])
	case kind == 0 || kind >= uint32(kinds):
		return Header{}, fmt.Errorf("a frame is of unknown kind %d", kind)
	case h.Length > h.Kind.limit():
		return Header{}, fmt.Errorf("a frame of kind %d announces %d bytes, %d are allowed", h.Kind, h.Length, h.Kind.limit())
	case h.Offset > MaxArea:
		return Header{}, fmt.Errorf("a frame of kind %d has offset %d, %d are allowed", h.Kind, h.Offset, uint64(MaxArea))
	}
	return h, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum returns the value of Header.Sum on a connection without TLS, for a frame with this header and these bytes.
func Sum(header *[HeaderBytes]byte, body []byte) uint32 { return SumMore(SumHeader(header), body) }

// SumHeader returns the sum of a header; SumMore adds the bytes that follow, as they arrive.
func SumHeader(header *[HeaderBytes]byte) uint32 {
	return crc32.Checksum(header[:HeaderBytes-4], castagnoli)
}

// SumMore adds the next bytes to a sum.
func SumMore(sum uint32, body []byte) uint32 { return crc32.Update(sum, castagnoli, body) }

// PutSum writes the sum into a header that Put has written.
func PutSum(header *[HeaderBytes]byte, body []byte) {
	binary.LittleEndian.PutUint32(header[HeaderBytes-4:], Sum(header, body))
}

// CheckDepth returns an error if arrays and objects of a JSON text are nested deeper than depth. It does not check the text otherwise.
func CheckDepth(text []byte, depth int) error {
	open, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if open++; open > depth {
				return fmt.Errorf("JSON is nested deeper than %d", depth)
			}
		case c == ']' || c == '}':
			open--
		}
	}
	return nil
}
