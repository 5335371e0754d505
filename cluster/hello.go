package cluster

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// HelloBytes is the size of a Hello on the wire. It is the same in all versions of the protocol.
const HelloBytes = 64

// Role is the purpose of a connection.
type Role uint8

// Roles of connections.
const (
	Control Role = 1 + iota // from a rank to rank 0
	Data                    // from a rank to a lower one
)

// Hello is the first that is sent on a connection, by the rank that dialled.
type Hello struct {
	Protocol uint16
	Role     Role
	Plain    bool // rows travel without TLS
	Carried  bool // rows travel by what carries them elsewhere, such as MPI
	Rank     uint32
	Ranks    uint32
	Nonce    [32]byte // random, for the proof of a data connection
}

var helloMagic = [8]byte{'c', 'a', 'p', 'g', 'n', 'n', '\r', '\n'}

// Put writes h: magic, protocol, role, flags, rank, ranks, nonce, zeros.
func (h Hello) Put(b *[HelloBytes]byte) {
	*b = [HelloBytes]byte{}
	copy(b[:], helloMagic[:])
	binary.LittleEndian.PutUint16(b[8:], h.Protocol)
	b[10] = byte(h.Role)
	if h.Plain {
		b[11] |= 1
	}
	if h.Carried {
		b[11] |= 2
	}
	binary.LittleEndian.PutUint32(b[12:], h.Rank)
	binary.LittleEndian.PutUint32(b[16:], h.Ranks)
	copy(b[20:], h.Nonce[:])
}

// ErrNoHello says that the other end of a connection is not a rank.
var ErrNoHello = errors.New("the connection does not begin as one of a rank")

// ParseHello is the inverse of Put. Another protocol is no error here, so that it can be named.
func ParseHello(b *[HelloBytes]byte) (Hello, error) {
	h := Hello{
		Protocol: binary.LittleEndian.Uint16(b[8:]),
		Role:     Role(b[10]),
		Plain:    b[11]&1 != 0,
		Carried:  b[11]&2 != 0,
		Rank:     binary.LittleEndian.Uint32(b[12:]),
		Ranks:    binary.LittleEndian.Uint32(b[16:]),
		Nonce:    [32]byte(b[20:52]),
	}
	if [8]byte(b[:8]) != helloMagic {
		return Hello{}, ErrNoHello
	}
	if h.Protocol == Protocol && h.Role != Control && h.Role != Data {
		return Hello{}, fmt.Errorf("a connection has unknown role %d", h.Role)
	}
	return h, nil
}

// Proof shows that a rank has the key of this run, which rank 0 generated and gave to its members: HMAC-SHA-256 of
// the hello, of the nonce that answered it, and of the sender's role. It is useless on another connection, because
// both sides choose a nonce.
func Proof(key []byte, hello Hello, answer [32]byte, dialler bool) [32]byte {
	var b [HelloBytes]byte
	hello.Put(&b)
	m := hmac.New(sha256.New, key)
	m.Write(b[:])
	m.Write(answer[:])
	if dialler {
		m.Write([]byte("dialler"))
	} else {
		m.Write([]byte("listener"))
	}
	return [32]byte(m.Sum(nil))
}
