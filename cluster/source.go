package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxRanks is how many ranks a run has at most.
const MaxRanks = 4096

// Place is the position of a process among the ranks of a run. The zero Place (no ranks) means that no source names
// any.
type Place struct {
	Rank, Ranks int    // 0 ≤ Rank < Ranks ≤ MaxRanks
	Master      string // host:port where rank 0 listens, as net.Dial takes it
	// Among the ranks of this host; LocalRanks 0: the source does not say, or contradicts itself.
	LocalRank, LocalRanks int
	Source                string // which source said so, for messages
}

// Lookup returns the value of an environment variable, as os.LookupEnv does.
type Lookup func(name string) (value string, ok bool)

// Flags are the values of --ranks N,rank=R,master=HOST; "" = not given.
type Flags struct{ Rank, Ranks, Master string }

// Find returns the place that the first complete source names, the zero Place if there is no source. The order is
// flags, then the variables of torchrun, Open MPI, PMI, Slurm, Kubernetes. A source is complete if it gives rank,
// size and the address of rank 0. If only the address is missing, it comes from a later source with the same rank and
// size, because a step of Slurm starts ranks through PMI, too. (mpirun within Slurm starts its daemons as a step with
// another rank and size.) Empty variables count as not set. If some are set but no source is complete, that is an
// error; if only the address is missing, it is a *Homeless, and the place has no Master.
func Find(flags Flags, env Lookup) (Place, error) {
	var homeless *reading // the first source that gives rank and size but no address
	var half error        // of the last source that is half set: later ones have variables of their own
	for _, s := range sources(flags, env) {
		r := &reading{env: s.env, source: s.name}
		s.read(r)
		switch {
		case len(r.set) == 0:
		case len(r.missing) > 0:
			if half = r.halfSet(); s.name == flagSource {
				return Place{}, half
			}
		case r.err != nil:
			return Place{}, fmt.Errorf("read where this rank stands: %w", r.err)
		case r.place.Master == "":
			if homeless == nil {
				homeless = r
			}
		case homeless == nil || homeless.place.Rank == r.place.Rank && homeless.place.Ranks == r.place.Ranks:
			return r.place, nil
		}
	}
	if homeless != nil {
		return homeless.place, &Homeless{homeless.place}
	}
	return Place{}, half
}

// Homeless says that a place lacks only the address of rank 0.
type Homeless struct{ Place Place }

func (h *Homeless) Error() string {
	return fmt.Sprintf("read where this rank stands: %s gives rank %d of %d, but not the machine of rank 0: set MASTER_ADDR to its name on all ranks",
		h.Place.Source, h.Place.Rank, h.Place.Ranks)
}

// reading is a source while it is read. The first error stays.
type reading struct {
	env          Lookup
	source       string
	set, missing []string // names of its variables
	place        Place
	err          error
}

// need returns the value of a variable without which the source is half set.
func (r *reading) need(name string) string {
	value, ok := r.ask(name)
	if !ok {
		r.missing = append(r.missing, name)
	}
	return value
}

// ask returns the value of a variable, and whether it is set.
func (r *reading) ask(name string) (string, bool) {
	value, _ := r.env(name)
	if value == "" {
		return "", false
	}
	r.set = append(r.set, name)
	return value, true
}

// peek returns the value of a variable that other sources have, too: it does not make this one set.
func (r *reading) peek(name string) string {
	value, _ := r.env(name)
	return value
}

// halfSet names what is set and what is missing.
func (r *reading) halfSet() error {
	return fmt.Errorf("read where this rank stands: %s %s set, but not %s: set all, or none for a run on one machine",
		list(r.set), isAre(len(r.set)), list(r.missing))
}

// fail keeps the first error.
func (r *reading) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// rank reads the values of the variables of rank and size. What is not there is reported elsewhere.
func (r *reading) rank(name, value, sizeName, size string) {
	if value == "" || size == "" {
		return
	}
	n, err := strconv.ParseUint(size, 10, 31)
	if err != nil || n < 1 || n > MaxRanks {
		r.fail(fmt.Errorf("%s=%q is no number of ranks from 1 to %d", sizeName, size, MaxRanks))
		return
	}
	i, err := strconv.ParseUint(value, 10, 31)
	if err != nil || i >= n {
		r.fail(fmt.Errorf("%s=%q is no rank: with %s=%d ranks are 0 to %d", name, value, sizeName, n, n-1))
		return
	}
	r.place.Rank, r.place.Ranks, r.place.Source = int(i), int(n), r.source
}

// master reads the address of rank 0, of which name is the variable.
func (r *reading) master(name, host, port string) {
	if host == "" {
		return
	}
	addr, err := Address(host, port)
	if err != nil {
		r.fail(fmt.Errorf("%s: %w", name, err))
		return
	}
	r.place.Master = addr
}

// local reads rank and size on this host. They are a hint: the joining ranks say where they are, so what cannot be is left out.
func (r *reading) local(rank, size string) {
	n, err := strconv.ParseUint(size, 10, 31)
	i, err2 := strconv.ParseUint(rank, 10, 31)
	if err == nil && err2 == nil && i < n && n <= uint64(r.place.Ranks) {
		r.place.LocalRank, r.place.LocalRanks = int(i), int(n)
	}
}

// list writes names as a sentence has them.
func list(names []string) string {
	names = slices.Clone(names)
	if k := len(names) - 2; k >= 0 {
		names = append(names[:k], names[k]+" and "+names[k+1])
	}
	return strings.Join(names, ", ")
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
