package tcp

import (
	"context"
	"runtime"
	"testing"
	"time"

	"capgnn/cluster"
)

// A door that closes as soon as somebody has come in leaves the connection open, however late its goroutines run.
func TestDoorClosesBehindWhoCameIn(t *testing.T) {
	o, err := Options{Rank: 0, Ranks: 2, Master: "127.0.0.1:0", Host: "a"}.complete()
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 300 {
		d, err := newDoor(t.Context(), "127.0.0.1:0", nil, &o)
		if err != nil {
			t.Skipf("no loopback address: %v", err)
		}
		conn, _, err := dial(context.Background(), d.listener.Addr().String(), nil, cluster.Hello{Protocol: cluster.Protocol, Role: cluster.Data, Rank: 1, Ranks: 2}, &o)
		if err != nil {
			t.Fatal(err)
		}
		e := <-d.entered
		e.welcome()
		d.close()
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := e.raw.Write([]byte{1}); err != nil {
			t.Fatalf("write behind the door: %v", err)
		}
		var b [1]byte
		if _, err := conn.Read(b[:]); err != nil {
			t.Fatalf("read behind the door: %v", err)
		}
		conn.Close()
		e.raw.Close()
	}
}
