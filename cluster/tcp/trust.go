package tcp

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync/atomic"
	"time"
)

// errSecret says that the other side has another secret.
var errSecret = errors.New("the other side has another secret: give all ranks the same file")

// trustOf returns what TLS 1.3 of both sides wants: a certificate whose Ed25519 key is derived from the secret, and the demand that the
// other side shows the same key. Who has the secret can make the key; nobody else can sign with it. nil without a secret.
func trustOf(secret []byte) (*tls.Config, error) {
	if secret == nil {
		return nil, nil
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, "capgnn cluster 1", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive a key from the secret: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public().(ed25519.PublicKey)
	// Nobody looks at the dates: the key alone decides.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate from the secret: %w", err)
	}
	return &tls.Config{
		MinVersion:                  tls.VersionTLS13,
		Certificates:                []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:                  tls.RequireAnyClientCert,
		InsecureSkipVerify:          true, // no names and no authorities: VerifyConnection compares keys
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true, // records of 16 KiB from the first on
		VerifyConnection: func(s tls.ConnectionState) error {
			theirs, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
			if !ok || !bytes.Equal(theirs, public) {
				return errSecret
			}
			return nil
		},
	}, nil
}

// isLocal says that an address is loopback: no other machine reaches it, and it reaches no other.
func isLocal(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// errNoSecret is what a rank without a secret answers to an address of another machine.
func errNoSecret(addr string) error {
	return fmt.Errorf("%s is no loopback address, and there is no secret: ranks of several machines need one", addr)
}

// Before a connection has shown who it is it may stay for 5 s and send 4 KiB, and there are at most 64 such: a hello is 64 bytes, a TLS
// 1.3 handshake with our certificate under 3 KiB.
const (
	strangers     = 64
	strangerTime  = 5 * time.Second
	strangerBytes = 4 << 10
)

var errTooMuch = errors.New("a connection sent more than 4 KiB before it showed who it is")

// limited is a connection that ends after strangerBytes, until it is let in.
type limited struct {
	net.Conn
	first  []byte // read before, returned first
	left   int
	lifted atomic.Bool
}

func (l *limited) Read(b []byte) (int, error) {
	if len(l.first) > 0 {
		n := copy(b, l.first)
		l.first = l.first[n:]
		return n, nil
	}
	if l.lifted.Load() {
		return l.Conn.Read(b)
	}
	if l.left <= 0 {
		return 0, errTooMuch
	}
	n, err := l.Conn.Read(b[:min(len(b), l.left)])
	l.left -= n
	return n, err
}
