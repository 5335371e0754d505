package tcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/internal/long"
)

// While ranks join, others scan the port, dial slowly, send too much, and take all slots: the ranks come in all the same.
func TestStrangersAtTheDoor(t *testing.T) {
	for _, o := range []Options{{}, {Secret: testSecret}, {Secret: testSecret, Plain: true}} {
		checkLeaks(t)
		o.Master = freePort(t, "127.0.0.1")
		o.Ranks, o.JoinTimeout = 2, 20*time.Second
		root := make(chan error, 1)
		go func() {
			g, err := Join(context.Background(), o)
			if err == nil {
				err = g.Close()
			}
			root <- err
		}()
		var strangers []net.Conn
		knock := func(first []byte) net.Conn {
			for {
				c, err := net.Dial("tcp", o.Master)
				if err != nil {
					time.Sleep(time.Millisecond)
					continue
				}
				c.Write(first)
				strangers = append(strangers, c)
				return c
			}
		}
		knock(nil).Close()
		for _, first := range [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n"), bytes.Repeat([]byte("c"), 8<<10), {22, 3, 1}, {22, 3, 1, 255, 255}, random(1, 5<<10)} {
			knock(first)
		}
		for range 2 * limit {
			knock([]byte("c"))
		}
		// Those beyond the slots are closed at once, not after the 5 s that the others have.
		knocked := strangers[len(strangers)-2*limit:]
		gone := make(chan error, len(knocked))
		for _, c := range knocked {
			go func() {
				_, err := c.Read(make([]byte, 1))
				gone <- err
			}()
		}
		late := time.After(4 * time.Second)
		for left := len(knocked); left > limit; left-- {
			select {
			case err := <-gone:
				if err == nil {
					t.Error("a stranger was answered")
				}
			case <-late:
				t.Fatalf("%d of %d strangers stay", left, len(knocked))
			}
		}
		for _, c := range strangers[:len(strangers)/2] { // the others stay for their 5 s
			c.Close()
		}
		second := o
		second.Rank = 1
		g, err := Join(context.Background(), second)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(g.Close(), <-root); err != nil {
			t.Error(err)
		}
		for _, c := range strangers {
			c.Close()
		}
	}
}

const limit = strangers

// A stranger who says too much is sent away at 4 KiB.
func TestDoorLimits(t *testing.T) {
	checkLeaks(t)
	trust, err := trustOf(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := Options{Ranks: 2, Master: "127.0.0.1:0", Secret: testSecret}.complete()
	d, err := newDoor(context.Background(), "127.0.0.1:0", trust, &o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	c, err := net.Dial("tcp", d.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// A handshake record of 16 KiB, whose bytes come.
	if _, err := c.Write(append([]byte{22, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb}, make([]byte, 12<<10)...)); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, c); err != nil && !isClosed(err) {
		t.Errorf("12 KiB of a handshake: %v", err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(d.lastRefused(), "more than 4 KiB"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("turned away: %q", d.lastRefused())
		}
	}
}

// A stranger who says nothing, or a byte now and then, is sent away after 5 s, counted from when it came.
func TestSlowDialler(t *testing.T) {
	if !long.Wanted() {
		t.Skip("5 s: with CAPGNN_LONG=1")
	}
	for _, secret := range [][]byte{nil, testSecret} {
		for _, first := range []string{"", "capgnn\r\n\x01\x00\x01" + strings.Repeat("\x00", 60), "\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03" + strings.Repeat("\x00", 60)} {
			t.Run(fmt.Sprintf("%d/%.1q", len(secret), first), func(t *testing.T) {
				t.Parallel()
				trust, err := trustOf(secret)
				if err != nil {
					t.Fatal(err)
				}
				o, _ := Options{Ranks: 2, Master: "127.0.0.1:0", Secret: secret}.complete()
				d, err := newDoor(t.Context(), "127.0.0.1:0", trust, &o)
				if err != nil {
					t.Fatal(err)
				}
				defer d.close()
				c, err := net.Dial("tcp", d.listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				start := time.Now()
				for time.Since(start) < strangerTime+3*time.Second {
					n, err := io.WriteString(c, first[:min(1, len(first))])
					if err != nil {
						break
					}
					first = first[n:]
					c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
					if _, err := c.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
						break
					}
				}
				if took := time.Since(start); took < strangerTime-time.Second || took > strangerTime+2*time.Second {
					t.Errorf("it was sent away after %v", took)
				}
			})
		}
	}
}

// A connection that calls itself a rank and announces 16 MiB costs no memory, and the rank comes in beside it.
func TestAnnouncedJoin(t *testing.T) {
	checkLeaks(t)
	o := Options{Ranks: 2, Master: freePort(t, "127.0.0.1"), JoinTimeout: 10 * time.Second}
	root := make(chan error, 1)
	go func() {
		g, err := Join(context.Background(), o)
		if err == nil {
			err = g.Close()
		}
		root <- err
	}()
	full, err := o.complete()
	if err != nil {
		t.Fatal(err)
	}
	hello := cluster.Hello{Protocol: cluster.Protocol, Role: cluster.Control, Rank: 1, Ranks: 2}
	var conn net.Conn
	for conn == nil {
		if conn, _, err = dial(t.Context(), o.Master, nil, hello, &full); err != nil {
			time.Sleep(time.Millisecond)
		}
	}
	defer conn.Close()
	before := allocated()
	conn.Write(append(header(cluster.Header{Kind: cluster.Join, Length: cluster.MaxJSON}), make([]byte, 100)...))
	time.Sleep(50 * time.Millisecond)
	if n := allocated() - before; n > 1<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
	second := o
	second.Rank = 1
	g, err := Join(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.Close(), <-root); err != nil {
		t.Error(err)
	}
}

// Who has no key of the run does not get a data connection, even with the secret, nor by repeating what another rank sent.
func TestDataNeedsTheKeyOfTheRun(t *testing.T) {
	for name, o := range modes {
		if o.Carry != nil {
			continue // there is no data connection to get
		}
		t.Run(name, func(t *testing.T) {
			checkLeaks(t)
			o.Ranks, o.Master = 2, "127.0.0.1:0"
			o, _ := o.complete()
			trust, err := trustOf(o.Secret)
			if err != nil {
				t.Fatal(err)
			}
			d, err := newDoor(context.Background(), "127.0.0.1:0", trust, &o)
			if err != nil {
				t.Fatal(err)
			}
			key, other := random(1, keyBytes), random(2, keyBytes)
			ctx, cancel := context.WithCancel(context.Background())
			g := newGroup(o)
			met := make(chan error, 1)
			go func() { met <- g.mesh(ctx, d, trust, key) }()
			hello := cluster.Hello{Protocol: cluster.Protocol, Role: cluster.Data, Plain: o.Plain, Rank: 1, Ranks: 2, Nonce: [32]byte{1}}
			try := func(key []byte) error {
				conn, raw, err := dial(ctx, d.listener.Addr().String(), trust, hello, &o)
				if err != nil {
					return err
				}
				defer raw.Close()
				return prove(conn, key, hello)
			}
			if err := try(other); err == nil || !strings.Contains(err.Error(), "does not belong to this run") {
				t.Errorf("with another key: %v", err)
			}
			conn, raw, err := dial(ctx, d.listener.Addr().String(), trust, hello, &o)
			if err != nil {
				t.Fatal(err)
			}
			io.ReadFull(conn, make([]byte, 64))
			replay := cluster.Proof(key, hello, [32]byte{9}, true) // of a nonce of another connection
			conn.Write(replay[:])
			if _, err := io.ReadFull(conn, make([]byte, 1)); err == nil {
				t.Error("a proof of another connection was accepted")
			}
			raw.Close()
			if g.data[1] != nil {
				t.Error("a data connection was made")
			}
			if err := try(key); err != nil {
				t.Errorf("with the key: %v", err)
			}
			if err := <-met; err != nil {
				t.Error(err)
			}
			cancel()
			d.close()
			g.end(errClosed)
			g.running.Wait()
		})
	}
}
