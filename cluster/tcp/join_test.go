package tcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/cluster"
)

// wantAll fails unless every rank was refused with a line that has all of these words, rank 0 and all others the same one.
func wantAll(t *testing.T, groups []*Group, errs []error, words ...string) {
	t.Helper()
	for r, err := range errs {
		var refused *Refused
		if groups[r] != nil || !errors.As(err, &refused) {
			t.Errorf("rank %d: %v, want a refusal", r, err)
			continue
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("rank %d: %q lacks %q", r, err, w)
			}
		}
		if strings.Contains(err.Error(), "\n") || !strings.HasSuffix(err.Error(), errs[0].Error()) {
			t.Errorf("rank %d: %q, rank 0 %q", r, err, errs[0])
		}
	}
}

func TestRefusedByFacts(t *testing.T) {
	checkLeaks(t)
	groups, errs := joinAll(t, 3, Options{Secret: testSecret}, func(r int, o *Options) {
		o.Facts = json.RawMessage(fmt.Sprintf(`{"plan":%d}`, r/2))
		o.Compare = func(members []Member) error {
			for _, m := range members[1:] {
				if string(m.Facts) != string(members[0].Facts) {
					return fmt.Errorf("rank %d (host %s) has %s, rank 0 has %s", m.Rank, m.Host, m.Facts, members[0].Facts)
				}
			}
			return nil
		}
	})
	wantAll(t, groups, errs, `rank 2 (host host2) has {"plan":1}, rank 0 has {"plan":0}`)
}

func TestRefusedMembers(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(r int, o *Options)
		words  []string
	}{
		"two of one number": {func(r int, o *Options) { o.Rank = min(r, 1) }, []string{"two processes call themselves rank 1", "host1", "host2"}},
		"world size":        {func(r int, o *Options) { o.Ranks = 3 + r/2 }, []string{"rank 2 at 127.0.0.1", "one of 4 ranks, rank 0 as one of 3"}},
		"plain":             {func(r int, o *Options) { o.Plain = r == 1 }, []string{"--transport of rank 1 at 127.0.0.1", " is tcp-plain, of rank 0 it is tcp: start all ranks with the same options"}},
	} {
		t.Run(name, func(t *testing.T) {
			checkLeaks(t)
			groups, errs := joinAll(t, 3, Options{Secret: testSecret}, tc.change)
			wantAll(t, groups, errs, tc.words...)
		})
	}
}

// A rank of another version gets an answer, and so do the others.
func TestRefusedProtocol(t *testing.T) {
	checkLeaks(t)
	o := Options{Master: freePort(t, "127.0.0.1"), Ranks: 2, JoinTimeout: 10 * time.Second}
	answer := make(chan string, 1)
	go func() {
		o, _ := o.complete()
		for {
			conn, raw, err := dial(context.Background(), o.Master, nil, cluster.Hello{Protocol: cluster.Protocol + 1, Role: cluster.Control, Rank: 1, Ranks: 2}, &o)
			if err != nil {
				time.Sleep(5 * time.Millisecond)
				continue
			}
			var b [cluster.HeaderBytes + 300]byte
			conn.SetReadDeadline(time.Now().Add(5 * time.Second))
			n := 0
			for n <= cluster.HeaderBytes {
				k, err := conn.Read(b[n:])
				if err != nil {
					break
				}
				n += k
			}
			raw.Close()
			answer <- string(b[min(n, cluster.HeaderBytes):n])
			return
		}
	}()
	_, err := Join(context.Background(), o)
	if text := <-answer; err == nil || !strings.Contains(text, "speaks protocol 2, rank 0 speaks 1") || text != err.Error() {
		t.Errorf("rank 0: %v, rank 1: %q", err, text)
	}
}

// Rank 0 listens at the address of its name, if that is one of its machine, and at all if others may know it by another.
func TestListenNarrowly(t *testing.T) {
	mine := []net.Addr{&net.IPNet{IP: net.ParseIP("127.0.0.1")}, &net.IPNet{IP: net.ParseIP("127.0.1.1")}, &net.IPNet{IP: net.ParseIP("10.0.0.1")},
		&net.IPNet{IP: net.ParseIP("10.0.0.2")}, &net.IPNet{IP: net.ParseIP("2001:db8::1")}, &net.UnixAddr{}}
	for name, want := range map[string]string{
		"": "", "127.0.1.1": "", "127.0.1.1 10.0.0.1": "10.0.0.1", "10.0.0.2": "10.0.0.2", "2001:db8::1": "2001:db8::1", "10.0.0.1 10.0.0.1": "10.0.0.1",
		"10.0.0.9": "", "10.0.0.9 10.0.0.1": "10.0.0.1", "10.0.0.1 10.0.0.2": "", "10.0.0.1 2001:db8::1": "",
	} {
		var ips []net.IPAddr
		for ip := range strings.FieldsSeq(name) {
			ips = append(ips, net.IPAddr{IP: net.ParseIP(ip)})
		}
		if got := narrow(ips, mine); got != want {
			t.Errorf("%s: listens at %q, want %q", name, got, want)
		}
	}
}

func TestMissingRanksAreNamed(t *testing.T) {
	checkLeaks(t)
	var mu sync.Mutex
	var said []string
	master := freePort(t, "127.0.0.1")
	var wait sync.WaitGroup
	errs := make([]error, 2)
	for r := range errs {
		wait.Go(func() {
			_, errs[r] = Join(context.Background(), Options{
				Rank: r * 2, Ranks: 4, Master: master, JoinTimeout: 300 * time.Millisecond, every: 50 * time.Millisecond, linger: time.Second,
				OnWait: func(s string) { mu.Lock(); said = append(said, s); mu.Unlock() },
			})
		})
	}
	wait.Wait()
	for r, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "ranks 1 and 3 of 4 did not join at "+master+" within 300ms: start them, or raise --transport join-timeout") {
			t.Errorf("rank %d: %v", 2*r, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(said, "\n"); !strings.Contains(all, "rank 0 waits at "+master+" for ranks 1 and 3 of 4") {
		t.Errorf("said while waiting: %q", all)
	}
}

func TestJoinErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, tc := range map[string]struct {
		o    Options
		want string
	}{
		"rank beyond":       {Options{Rank: 2, Ranks: 2, Master: "127.0.0.1:1"}, "rank 2 of 2 ranks"},
		"no port":           {Options{Rank: 1, Ranks: 2, Master: "127.0.0.1"}, `address "127.0.0.1" of rank 0: want host:port`},
		"short secret":      {Options{Rank: 1, Ranks: 2, Master: "127.0.0.1:1", Secret: []byte("short")}, "the secret has 5 bytes: at least 32"},
		"facts no JSON":     {Options{Rank: 1, Ranks: 2, Master: "127.0.0.1:1", Facts: json.RawMessage("{")}, "want JSON"},
		"port taken":        {Options{Ranks: 2, Master: taken.Addr().String()}, "address already in use: another program, or another rank 0, listens there: end it, or choose another port: with `capgnn launch --port PORT`"},
		"no secret":         {Options{Ranks: 2, Master: "0.0.0.0:0"}, "no loopback address, and there is no secret"},
		"nobody there":      {Options{Rank: 1, Ranks: 2, Master: freePort(t, "127.0.0.1")}, "nobody listens there: is rank 0 running"},
		"silent listener":   {Options{Rank: 1, Ranks: 2, Master: taken.Addr().String()}, "did not reach rank 0 at " + taken.Addr().String() + " within 50ms: what listens there does not answer"},
		"name without addr": {Options{Rank: 1, Ranks: 2, Master: "no-such-host.invalid:1"}, "no-such-host.invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			checkLeaks(t)
			tc.o.linger = 10 * time.Millisecond
			tc.o.JoinTimeout = 50 * time.Millisecond
			if _, err := Join(context.Background(), tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// Who has another secret, or none, does not come in; rank 0 names it while it waits, and the others come in.
func TestOtherSecrets(t *testing.T) {
	checkLeaks(t)
	master := freePort(t, "127.0.0.1")
	other := append([]byte("x"), testSecret...)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var mu sync.Mutex
	said := ""
	root := make(chan error, 1)
	turned := make(chan struct{})
	var once sync.Once
	go func() {
		g, err := Join(ctx, Options{Ranks: 2, Master: master, Secret: testSecret, every: 20 * time.Millisecond, OnWait: func(s string) {
			mu.Lock()
			defer mu.Unlock()
			if said = s; strings.Contains(s, ": it has another secret)") {
				once.Do(func() { close(turned) })
			}
		}})
		if err == nil {
			err = g.Close()
		}
		root <- err
	}()
	_, err := Join(ctx, Options{Rank: 1, Ranks: 2, Master: master, Secret: other})
	if err == nil || !strings.Contains(err.Error(), "another secret") {
		t.Errorf("with another secret: %v", err)
	}
	select {
	case <-turned:
	case <-ctx.Done():
		mu.Lock()
		t.Errorf("rank 0 said %q", said)
		mu.Unlock()
	}
	_, err = Join(ctx, Options{Rank: 1, Ranks: 2, Master: master, JoinTimeout: 300 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "rank 0 closed the connection: do all ranks have the same secret") {
		t.Errorf("without a secret: %v", err)
	}
	g, err := Join(ctx, Options{Rank: 1, Ranks: 2, Master: master, Secret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.Close(), <-root); err != nil {
		t.Error(err)
	}
}

// A rank that is stopped while others are missing leaves at once, and may come again.
func TestJoinIsCancelledAndRepeated(t *testing.T) {
	checkLeaks(t)
	master := freePort(t, "127.0.0.1")
	root := make(chan error, 1)
	go func() {
		g, err := Join(context.Background(), Options{Ranks: 3, Master: master, JoinTimeout: 10 * time.Second})
		if err == nil {
			err = g.Close()
		}
		root <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	if _, err := Join(ctx, Options{Rank: 1, Ranks: 3, Master: master}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled Join: %v", err)
	}
	var wait sync.WaitGroup
	for r := 1; r < 3; r++ {
		wait.Go(func() {
			g, err := Join(context.Background(), Options{Rank: r, Ranks: 3, Master: master, JoinTimeout: 10 * time.Second})
			if err == nil {
				err = g.Close()
			}
			if err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
		})
	}
	wait.Wait()
	if err := <-root; err != nil {
		t.Error(err)
	}
}
