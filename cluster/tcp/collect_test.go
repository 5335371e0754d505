package tcp

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"capgnn/cluster"
)

// random returns bytes that depend on the seed.
func random(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	r.Read(b)
	return b
}

func TestGatherAndBroadcast(t *testing.T) {
	sizes := []int{0, 1, cluster.MaxFirst - 1, cluster.MaxFirst, cluster.MaxFirst + 1, cluster.MaxFirst + cluster.MaxFrame, 3<<20 + 17}
	for name, o := range modes {
		t.Run(name, func(t *testing.T) {
			checkLeaks(t)
			groups := together(t, 3, o, nil)
			ctx := context.Background()
			err := each(groups, func(g *Group) error {
				for i, n := range sizes {
					tag, own := uint32(i), random(uint64(10*i+g.Rank()), n/(g.Rank()+1))
					all, err := g.Gather(ctx, tag, own)
					if err != nil {
						return err
					}
					for r, b := range all {
						if !bytes.Equal(b, random(uint64(10*i+r), n/(r+1))) {
							return fmt.Errorf("gather %d: rank %d sent %d bytes, %d arrived or they differ", tag, r, n/(r+1), len(b))
						}
					}
					if (all == nil) != (g.Rank() != 0) {
						return fmt.Errorf("rank %d gathered %d messages", g.Rank(), len(all))
					}
					got, err := g.Broadcast(ctx, tag, own)
					if err != nil {
						return err
					}
					if !bytes.Equal(got, random(uint64(10*i), n)) {
						return fmt.Errorf("broadcast %d: rank %d got %d bytes of %d, or others", tag, g.Rank(), len(got), n)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// Ranks that run ahead wait; nothing is lost or mixed up.
func TestGatherAhead(t *testing.T) {
	checkLeaks(t)
	groups := together(t, 3, Options{}, nil)
	err := each(groups, func(g *Group) error {
		for tag := range uint32(40) {
			if int(tag/7)%3 == g.Rank() {
				time.Sleep(time.Millisecond)
			}
			all, err := g.Gather(context.Background(), tag, fmt.Appendf(nil, "%d of %d", tag, g.Rank()))
			if err != nil {
				return err
			}
			for r, b := range all {
				if string(b) != fmt.Sprintf("%d of %d", tag, r) {
					return fmt.Errorf("gather %d has %q of rank %d", tag, b, r)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWrongOrderEndsTheGroup(t *testing.T) {
	for name, tc := range map[string]struct {
		wrong func(g *Group) error
		want  string
	}{
		"tag": {func(g *Group) error { _, err := g.Gather(context.Background(), 8, nil); return err },
			"rank 1 (host host1) broke the protocol before the first epoch: it sent message 8 where message 7 was due"},
		"left": {func(g *Group) error { g.Close(); return nil },
			"rank 1 (host host1) broke the protocol before the first epoch: it left before message 7"},
	} {
		t.Run(name, func(t *testing.T) {
			checkLeaks(t)
			groups := together(t, 3, Options{}, nil)
			_ = each(groups, func(g *Group) error {
				if g.Rank() == 1 {
					return tc.wrong(g)
				}
				_, err := g.Gather(context.Background(), 7, nil)
				return err
			})
			for r, g := range groups {
				<-g.Done()
				if err := g.Err(); err.Error() != tc.want {
					t.Errorf("rank %d: %v", r, err)
				}
			}
		})
	}
}

// A context that ends ends the wait.
func TestGatherIsCancelled(t *testing.T) {
	checkLeaks(t)
	groups := together(t, 2, Options{}, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := groups[0].Gather(ctx, 1, nil); err != context.DeadlineExceeded {
		t.Errorf("gather: %v", err)
	}
}

func TestAnnounceComparesTables(t *testing.T) {
	checkLeaks(t)
	groups := together(t, 3, Options{}, nil)
	err := each(groups, func(g *Group) error {
		return g.Announce(context.Background(), []cluster.Area{{From: 0, To: 1, Bytes: 5 + g.Rank()/2}})
	})
	for r, g := range groups {
		<-g.Done()
		if s := g.Err().Error(); !strings.Contains(s, "table of areas differs from that of rank 2 (host host2)") {
			t.Errorf("rank %d: %s", r, s)
		}
	}
	if err == nil {
		t.Error("Announce succeeded")
	}
}
