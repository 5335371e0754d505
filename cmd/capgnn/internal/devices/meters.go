package devices

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"capgnn/gpu"
	"capgnn/internal/regular"
)

// Powercap is the folder in which Linux shows the meters of its processors.
const Powercap = "/sys/class/powercap"

// Meters read what the GPUs of a run, and the processors of this machine, take.
type Meters struct {
	note func(format string, a ...any)
	mu   sync.Mutex
	list []*meter
	at   time.Time     // of the last reading
	cost time.Duration // of it
	done chan struct{}
}

// meter is that of one GPU, or of one package of processors.
type meter struct {
	gpu.Metered
	id     string                            // of a GPU, wherever it is called otherwise
	joules func() (float64, error)           // taken since some moment of the past; nil: not known
	busy   func() (computes, moves *float64) // nil: not a GPU
	close  func()                            // nil: nothing has to be closed
	last   float64                           // of joules
}

// Reading takes a thousandth of the time at most. Counters of processors begin anew behind 260 kJ or more, which no package takes in a minute.
const (
	costShare = 1000
	wrapTime  = time.Minute
	pageBytes = 4096 // a file of sysfs has at most a page
)

// OpenMeters opens those of the GPUs among specs, and those of processors below a folder such as Powercap; "": none. It notes what cannot be read.
// Close is to be called in the end.
func OpenMeters(specs []Spec, powercap string, note func(format string, a ...any)) *Meters {
	m := &Meters{note: note, done: make(chan struct{})}
	for i, s := range specs {
		if s.GPU && !slices.ContainsFunc(specs[:i], func(o Spec) bool { return o.GPU && o.Label == s.Label }) {
			x, err := gpuMeter(s)
			m.add(x, s.name(), err)
		}
	}
	folders, _ := fs.Glob(os.DirFS(powercap), "intel-rapl:*") // the pattern is a good one
	for _, folder := range folders {
		dir := filepath.Join(powercap, folder)
		name, err := regular.ReadFile(filepath.Join(dir, "name"), pageBytes)
		domain := strings.TrimSpace(string(name))
		if strings.Count(folder, ":") > 1 || err == nil && !strings.HasPrefix(domain, "package-") {
			continue // what it counts, packages count, too
		}
		var x meter
		if err == nil {
			x.joules, err = rapl(dir)
		}
		m.add(x, cmp.Or(domain, folder), err)
	}
	go m.watch() // until Close
	return m
}

// add adds a meter, which err says to have no energy.
func (m *Meters) add(x meter, name string, err error) {
	if x.Device = name; err != nil {
		m.note("note: the energy of %s is not known: %v", name, err)
		x.joules = nil
	}
	m.list = append(m.list, &x)
}

// rapl returns what a package takes from now on. Its counter begins anew behind its range: it has to be read more often than that happens.
func rapl(dir string) (func() (float64, error), error) {
	limit, err := microjoules(dir, "max_energy_range_uj")
	last, again := microjoules(dir, "energy_uj")
	taken := uint64(0)
	return func() (float64, error) {
		now, err := microjoules(dir, "energy_uj")
		if err == nil && max(now, last) > limit {
			err = fmt.Errorf("%s: energy_uj is beyond max_energy_range_uj", dir)
		}
		if err != nil {
			return 0, err
		}
		if taken += now - last; now < last {
			taken += limit
		}
		last = now
		return float64(taken) / 1e6, nil
	}, cmp.Or(err, again)
}

func microjoules(dir, name string) (n uint64, err error) {
	text, err := regular.ReadFile(filepath.Join(dir, name), pageBytes)
	if err == nil {
		n, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 63)
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", filepath.Join(dir, name), err)
	}
	return n, err
}

// Read returns what each has taken since the last reading; nil where that is less than a thousand times as long ago as a reading takes, unless it has to.
// Where there are no meters, m may be nil.
func (m *Meters) Read(has bool) (all []gpu.Metered) {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	start := time.Now()
	since := start.Sub(m.at)
	if !has && since < costShare*m.cost {
		return nil
	}
	for _, x := range m.list {
		x.Seconds = since.Seconds()
		all = append(all, m.taken(x))
	}
	m.at, m.cost = start, time.Since(start)
	return all
}

// taken reads a meter. One that cannot be read any more is read no more.
func (m *Meters) taken(x *meter) gpu.Metered {
	r := x.Metered
	if x.busy != nil {
		r.Busy, r.MemoryBusy = x.busy()
	}
	if x.joules == nil {
		return r
	}
	now, err := x.joules()
	if err == nil && now < x.last {
		err = errors.New("it has begun anew")
	}
	if err != nil {
		m.note("note: the energy of %s is not known any more: %v", r.Device, err)
		x.joules = nil
		return r
	}
	taken := now - x.last
	x.last, r.Joules = now, &taken
	return r
}

// IDs returns what GPUs are called wherever they are seen.
func (m *Meters) IDs() (ids []string) {
	for _, x := range m.list {
		ids = append(ids, x.id)
	}
	return ids
}

// Share leaves GPUs to others that have them, too, by the IDs of each. rank is that of this process.
func (m *Meters) Share(rank int, others [][]string) {
	theirs := slices.Concat(others...)
	m.list = slices.DeleteFunc(m.list, func(x *meter) bool { return x.id != "" && slices.Contains(theirs, x.id) })
	for _, x := range m.list {
		x.Rank = rank
	}
}

// Close gives back what was opened.
func (m *Meters) Close() {
	if m == nil {
		return
	}
	close(m.done)
	for _, x := range m.list {
		if x.close != nil {
			x.close()
		}
	}
}

// watch reads counters before they have begun anew twice.
func (m *Meters) watch() {
	for tick := time.Tick(wrapTime); ; {
		select {
		case <-m.done:
			return
		case <-tick:
			m.mu.Lock()
			for _, x := range m.list {
				if x.busy == nil && x.joules != nil {
					_, _ = x.joules() // the next reading says what is wrong
				}
			}
			m.mu.Unlock()
		}
	}
}
