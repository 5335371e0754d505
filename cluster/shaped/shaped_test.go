package shaped

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"capgnn/cluster"
	"capgnn/cluster/tcp"
	"capgnn/internal/long"
)

const (
	areas  = 4
	size   = 3000
	epochs = 3
)

// exchange lets a rank send rows of all areas to all others in every epoch, in three pieces, and returns in which order areas arrived
// and what was in them.
func exchange(t Transport) (order []uint32, sum uint64, err error) {
	type arrival struct {
		from        int
		area, epoch uint32
		hi          int
	}
	arrivals := make(chan arrival, 10000)
	into := map[[2]int][]byte{}
	for r := range t.Ranks() {
		for a := range areas {
			if r != t.Rank() {
				b := make([]byte, size)
				into[[2]int{r, a}] = b
				t.Expect(r, uint32(a), b, func(epoch uint32, hi int) { arrivals <- arrival{r, uint32(a), epoch, hi} })
			}
		}
	}
	var sent sync.WaitGroup
	for epoch := uint32(1); epoch <= epochs; epoch++ {
		b := make([]byte, areas*size)
		for i := range b {
			b[i] = byte(i*7 + t.Rank()*31 + int(epoch)*13)
		}
		for r := range t.Ranks() {
			for off := 0; r != t.Rank() && off < size; off += size / 3 {
				for a := range areas {
					sent.Add(1)
					t.Send(r, uint32(a), epoch, off, b[a*size+off:a*size+off+size/3], func(e error) {
						if e != nil {
							panic(e)
						}
						sent.Done()
					})
				}
			}
		}
		his := map[[2]int]int{}
		for whole := 0; whole < areas*(t.Ranks()-1); {
			select {
			case a := <-arrivals:
				k := [2]int{a.from, int(a.area)}
				if a.epoch != epoch || a.hi <= his[k] {
					return nil, 0, fmt.Errorf("rank %d: %+v after byte %d of epoch %d", t.Rank(), a, his[k], epoch)
				}
				if his[k] = a.hi; a.hi == size {
					whole++
					order = append(order, a.area)
				}
			case <-time.After(10 * time.Second):
				return nil, 0, errors.New("nothing comes")
			}
		}
		for r := range t.Ranks() { // in order of ranks: the sum depends on contents alone
			for a := range areas {
				for _, v := range into[[2]int{r, a}] {
					sum = sum*31 + uint64(v)
				}
				if r != t.Rank() {
					t.Taken(r, uint32(a), epoch)
				}
			}
		}
		all, err := t.Gather(context.Background(), epoch, []byte{byte(t.Rank())})
		if err != nil {
			return nil, 0, err
		}
		if t.Rank() == 0 && !slices.EqualFunc(all, []byte{0, 1, 2}[:t.Ranks()], func(b []byte, r byte) bool { return len(b) == 1 && b[0] == r }) {
			return nil, 0, fmt.Errorf("gathered %v", all)
		}
		if _, err := t.Broadcast(context.Background(), epoch, []byte("go")); err != nil {
			return nil, 0, err
		}
	}
	sent.Wait()
	return order, sum, nil
}

// exchangeAll does it for all ranks; sums are by rank, order is that of rank 0.
func exchangeAll(t *testing.T, ranks []Transport) (order []uint32, sums []uint64) {
	t.Helper()
	sums = make([]uint64, len(ranks))
	var wait sync.WaitGroup
	for r, x := range ranks {
		wait.Go(func() {
			o, sum, err := exchange(x)
			if err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
			if sums[r] = sum; r == 0 {
				order = o
			}
		})
	}
	wait.Wait()
	return order, sums
}

// Contents do not depend on delays, but the order of areas does.
func TestDelaysAndReorderings(t *testing.T) {
	plain := NewLocal(3)
	defer plain[0].Close()
	_, want := exchangeAll(t, []Transport{plain[0], plain[1], plain[2]})
	seeds := uint64(20)
	if long.Wanted() {
		seeds = 200
	}
	orders := map[string]bool{}
	for seed := range seeds {
		order, got := run(t, Options{Seed: seed, Jitter: 3 * time.Millisecond, Latency: 100 * time.Microsecond, Rate: 200e6})
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %x, want %x", seed, got, want)
		}
		orders[fmt.Sprint(order)] = true
	}
	if len(orders) < int(seeds)/2 {
		t.Errorf("%d seeds have %d orders", seeds, len(orders))
	}
}

func run(t *testing.T, o Options) ([]uint32, []uint64) {
	ranks := NewLocal(3)
	defer ranks[0].Close()
	var shaped []Transport
	for _, l := range ranks {
		s := Shape(l, o)
		defer s.Close()
		shaped = append(shaped, s)
	}
	return exchangeAll(t, shaped)
}

// The same over TCP.
func TestOverTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var list []cluster.Area
	for from := range 2 {
		for a := range areas {
			list = append(list, cluster.Area{From: from, To: 1 - from, Number: uint32(a), Bytes: size})
		}
	}
	local := NewLocal(2)
	defer local[0].Close()
	_, want := exchangeAll(t, []Transport{local[0], local[1]})
	got := make([]uint64, 2)
	var wait sync.WaitGroup
	for r := range 2 {
		wait.Go(func() {
			g, err := tcp.Join(context.Background(), tcp.Options{Rank: r, Ranks: 2, Master: l.Addr().String(), JoinTimeout: 10 * time.Second})
			if err != nil {
				t.Error(err)
				return
			}
			if err := g.Announce(context.Background(), list); err != nil {
				t.Error(err)
			}
			s := Shape(g, Options{Seed: 1, Jitter: time.Millisecond})
			if _, got[r], err = exchange(s); err != nil {
				t.Error(err)
			}
			_, err = s.Gather(context.Background(), 99, nil) // Taken of the last epoch is through
			time.Sleep(5 * time.Millisecond)
			s.Close()
			if err := errors.Join(err, g.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

// Pieces come when rate and latency say, and not at all through a line that is cut.
func TestRateLatencyAndCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ranks := NewLocal(2)
		defer ranks[0].Close()
		s := Shape(ranks[0], Options{Rate: 10e6, Latency: 30 * time.Millisecond})
		defer s.Close()
		arrived := make(chan time.Time, 10)
		ranks[1].Expect(0, 0, make([]byte, 600_000), func(uint32, int) { arrived <- time.Now() })
		start := time.Now()
		s.Send(1, 0, 1, 0, make([]byte, 300_000), nil) // 30 ms each
		s.Send(1, 0, 1, 300_000, make([]byte, 300_000), nil)
		for i, least := range []time.Duration{60 * time.Millisecond, 90 * time.Millisecond} {
			if took := (<-arrived).Sub(start); took != least {
				t.Errorf("piece %d came after %v, want %v", i, took, least)
			}
		}
		s.Cut(1)
		ranks[1].Taken(0, 0, 1)
		s.Send(1, 0, 2, 0, make([]byte, 1), nil)
		select {
		case <-arrived:
			t.Error("a piece came through a cut line")
		case <-time.After(60 * time.Millisecond):
		}
		s.Mend(1)
		<-arrived
	})
}

// A line carries its rate, in pieces as ranks send them.
func TestRateIsThatOfALink(t *testing.T) {
	for _, gbit := range []float64{0.1, 1} {
		synctest.Test(t, func(t *testing.T) {
			rate := gbit * 1e9 / 8
			const piece, pieces = 256 << 10, 8
			ranks := NewLocal(2)
			defer ranks[0].Close()
			s := Shape(ranks[0], Options{Rate: rate})
			defer s.Close()
			whole := make(chan time.Time, 1)
			ranks[1].Expect(0, 0, make([]byte, pieces*piece), func(_ uint32, hi int) {
				if hi == pieces*piece {
					whole <- time.Now()
				}
			})
			start := time.Now()
			for k := range pieces {
				s.Send(1, 0, 1, k*piece, make([]byte, piece), nil)
			}
			took := (<-whole).Sub(start)
			want := time.Duration(pieces * piece / rate * float64(time.Second))
			if took < want-pieces || took > want+pieces { // each piece is rounded to 1 ns
				t.Errorf("%v Gbit/s: %v, want %v", gbit, took, want)
			}
		})
	}
}
