package pipeline

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// staleEdits are ways to let rows age over ranks.
var staleEdits = map[string]func(o *Options){
	"all": func(o *Options) { o.Cache.Staleness = 2 },
	"slots": func(o *Options) {
		o.Cache.Staleness, o.Cache.Local, o.Cache.Global = 3, jaca.Percent(30), jaca.Percent(30)
	},
	"int8": func(o *Options) {
		o.Cache.Staleness, o.Cache.ExactEpochs, o.Cache.HaloType, o.Cache.Global = 2, 3, halo.Int8, jaca.Percent(40)
	},
	"slotless": func(o *Options) {
		o.Cache.Staleness, o.Cache.Pipeline, o.Cache.Policy = 1, true, jaca.None
	},
}

// staleRun is a run of 9 epochs whose rows age, with the pipeline if turn is odd.
func staleRun(t *testing.T, kind named.Kind, name string, turn int) farRun {
	c := farRun{sharing: turn%3 == 0, edit: func(_ *learn.Problem, o *Options) {
		o.Epochs, o.Cache.Policy, o.Cache.Pipeline = 9, jaca.JACA, turn%2 == 1
		staleEdits[name](o)
	}}
	c.p, c.m = task{share: 0.4, vertices: 200, directed: turn%2 == 1, sparse: turn%5 == 2}.make(t, kind)
	return c
}

// alike fails the test if ranks end with an error or differ, and returns what they tell.
func (c *farRun) alike(t *testing.T, group string, ranks []Ranks) string {
	t.Helper()
	got, err := c.train(t, groupings[group], ranks)
	if err != nil {
		t.Fatalf("%s: %v", group, err)
	}
	if slices.ContainsFunc(got, func(s string) bool { return s != got[0] }) {
		t.Errorf("%s: ranks differ: %v", group, got)
	}
	return got[0]
}

// Rows of other ranks may be of earlier epochs: the same grouping has the same bits however long what ranks send is under way, and over connections.
func TestStaleRanksTrainAlike(t *testing.T) {
	turn := 0
	for _, kind := range kinds(t) {
		for _, name := range []string{"all", "slots", "int8", "slotless"} {
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				turn++
				c := staleRun(t, kind, name, turn+turn/8)
				for k, group := range []string{"2x2", "3+1", "4x1"} {
					if (turn+k)%3 > 0 && !long.Wanted() {
						continue
					}
					n := len(groupings[group])
					want := c.alike(t, group, memoryRanks(t, n, 0))
					if got := c.alike(t, group, memoryRanks(t, n, uint64(turn))); got != want {
						t.Errorf("%s with delays: %s\nwithout: %s", group, got, want)
					}
					if turn%4 > 0 && !long.Wanted() {
						continue
					}
					if got := c.alike(t, group, connected(t, n)); got != want {
						t.Errorf("%s over connections: %s\nin memory: %s", group, got, want)
					}
				}
			})
		}
	}
}

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// A run that was killed inside a period goes on with the same bits over ranks of the same parts. Over others everything is due once, and the log says so.
func TestStaleRanksResume(t *testing.T) {
	turn := 0
	for _, kind := range kinds(t) {
		for _, name := range []string{"all", "slots", "int8", "slotless"} {
			if turn++; (turn+turn/8)%2 > 0 && !kind.Attends() {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				c := staleRun(t, kind, name, turn+turn/8)
				group := []string{"2x2", "3+1", "4x1"}[turn%3]
				dir := t.TempDir()
				c.at = saving(dir, false)
				want := c.alike(t, group, memoryRanks(t, len(groupings[group]), 0))
				for k, epoch := range []int{2, 4, 6} {
					if k != turn/4%3 && !long.Wanted() {
						continue
					}
					log := &lines{}
					resumed := func(group, from string) string {
						save := saving(from, true)
						c.at = func(rank int, o *Options) {
							if save(rank, o); rank == 0 {
								o.Log = slog.New(slog.NewTextHandler(log, nil))
							}
						}
						var ranks []Ranks
						if group != "1x4" {
							ranks = memoryRanks(t, len(groupings[group]), uint64(epoch))
						}
						return c.alike(t, group, ranks)
					}
					if got := resumed(group, copied(t, dir, epoch)); got != want || strings.Contains(log.text.String(), "due once more") {
						t.Errorf("%s from epoch %d: %s\nwithout a stop: %s\n%s", group, epoch, got, want, log.text.String())
					}
					other := map[string]string{"2x2": "3+1", "3+1": "1x4", "4x1": "2x2"}[group]
					if resumed(other, copied(t, dir, epoch)); strings.Count(log.text.String(), "due once more") != 1 {
						t.Errorf("%s from epoch %d of %s says\n%s", other, epoch, group, log.text.String())
					}
				}
			})
		}
	}
}
