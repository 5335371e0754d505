package pipeline

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"capgnn/gpu"
	"capgnn/internal/long"
)

// mutant is a set of devices whose queues leave out the waits of one line of this package, or of one that it calls.
type mutant struct {
	site string // "": none

	mu   sync.Mutex
	seen map[string]map[string]bool // lines that wait, and names of the queues that they wait on
}

// wrap returns the devices as the mutant has them.
func (m *mutant) wrap(devices []gpu.Device) []gpu.Device {
	var out []gpu.Device
	for _, d := range devices {
		out = append(out, &deafDevice{d, m})
	}
	return out
}

// waiters are the lines that waitingLine has found, by the calls that led there.
var waiters sync.Map // of string by [16]uintptr

// waitingLine returns the line that makes a queue wait: file, function and text, without packages meet and link, which pass waits on.
func waitingLine() string {
	var pcs [16]uintptr
	n := runtime.Callers(4, pcs[:])
	if at, ok := waiters.Load(pcs); ok {
		return at.(string)
	}
	frames := runtime.CallersFrames(pcs[:n])
	for {
		f, more := frames.Next()
		dir, function := path.Split(f.Function)
		pkg, _, _ := strings.Cut(function, ".")
		if in := dir + pkg; in != "capgnn/internal/meet" && in != "capgnn/pipeline/link" || !more {
			file := filepath.Base(f.File)
			if room := strings.TrimPrefix(in, "capgnn/"); room != "pipeline" {
				file = filepath.Join("..", room, file)
			}
			at := fmt.Sprintf("%s, %s: %s", file, function[strings.LastIndexByte(function, '.')+1:], sourceLine(file, f.Line))
			waiters.Store(pcs, at)
			return at
		}
	}
}

// sourceLine returns a line of a source file.
func sourceLine(file string, n int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(strings.Split(string(text), "\n")[n-1])
}

// deaf reports whether the wait that is being enqueued on a queue is to be left out.
func (m *mutant) deaf(queue string) bool {
	at := waitingLine()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[at] == nil {
		m.seen[at] = map[string]bool{}
	}
	m.seen[at][queue] = true
	return at == m.site
}

func newMutant(site string) *mutant {
	return &mutant{site: site, seen: map[string]map[string]bool{}}
}

// deafDevice is a device of a mutant.
type deafDevice struct {
	gpu.Device
	m *mutant
}

func (d *deafDevice) Clock() gpu.Clock {
	if c, ok := d.Device.(gpu.Clocked); ok {
		return c.Clock()
	}
	return nil
}

func (d *deafDevice) NewQueue(name string) gpu.Queue {
	return deafQueue{d.Device.NewQueue(name), name, d.m}
}

// deafQueue is one of its queues. It implements gpu.PeerCopier.
type deafQueue struct {
	gpu.Queue
	name string
	m    *mutant
}

func (q deafQueue) Wait(ev gpu.Event) {
	if !q.m.deaf(q.name) {
		q.Queue.Wait(ev)
	}
}

func (q deafQueue) CanCopyFrom(src gpu.Device) bool {
	if d, ok := src.(*deafDevice); ok {
		src = d.Device
	}
	p, ok := q.Queue.(gpu.PeerCopier)
	return ok && p.CanCopyFrom(src)
}

func (q deafQueue) CopyFrom(dst, src gpu.Matrix) { q.Queue.(gpu.PeerCopier).CopyFrom(dst, src) }

// Every wait of a queue is needed: where it is left out, some schedule gives other bits or a fault. So the schedules are
// adverse enough, and no wait is there for nothing.
func TestEveryWaitIsNeeded(t *testing.T) {
	t.Parallel()
	if testing.Short() || !long.Wanted() {
		t.Skip("tries some hundred schedules: CAPGNN_LONG=1")
	}
	const schedules = 64
	list := settings(64)
	wants := make([]outcome, len(list))
	sites := map[string][]int{}            // settings that come there
	queues := map[string]map[string]bool{} // that wait there
	for k, s := range list {
		p, m := s.problem(t)
		none := newMutant("")
		if wants[k] = s.run(t, p, m, none.wrap, nil); wants[k].err != nil {
			t.Fatal(wants[k].err)
		}
		for site, names := range none.seen {
			sites[site] = append(sites[site], k)
			if queues[site] == nil {
				queues[site] = map[string]bool{}
			}
			maps.Copy(queues[site], names)
		}
	}
	names := make([]string, 0, len(sites))
	for site := range sites {
		names = append(names, site)
	}
	slices.Sort(names)
	for _, site := range names {
		t.Run(site, func(t *testing.T) {
			for n := range schedules {
				k := sites[site][n%len(sites[site])]
				s, got := list[k], outcome{}
				p, m := s.problem(t)
				synctest.Test(t, func(t *testing.T) {
					got = s.run(t, p, m, func(d []gpu.Device) []gpu.Device { return newMutant(site).wrap(adversary(n).against(d, queues[site])) }, nil)
				})
				if got != wants[k] {
					what := "other bits"
					if got.err != nil {
						what = got.err.Error()
					}
					t.Logf("found by schedule %d: %v: %s", n+1, s, what)
					return
				}
			}
			t.Errorf("no schedule of %d finds that it is left out", schedules)
		})
	}
}
