package runfolder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/minibatch"
)

// Sampling is how the steps of sampled training are made: what --sampling says.
type Sampling struct {
	Name     string // of the preset that the other settings began with
	Local    bool   // every part draws roots from its own training vertices; else those of a step are drawn over all parts
	Place    minibatch.Place
	Prefetch int // steps that are sampled before they are computed
}

const (
	samplingDefault = "default"
	defaultPrefetch = 3
	// maxPrefetch bounds how many steps are sampled ahead: each takes memory, and more than a few hide nothing.
	maxPrefetch = 64
)

// samplings are the presets, the default first.
var samplings = []Sampling{
	{Name: samplingDefault, Place: minibatch.Home, Prefetch: defaultPrefetch},
	{Name: "distdgl", Local: true, Prefetch: defaultPrefetch},
}

// SamplingNames are the names that --sampling takes.
func SamplingNames() []string {
	names := make([]string, len(samplings))
	for i, s := range samplings {
		names[i] = s.Name
	}
	return names
}

// samplingKey is a setting behind the name of a preset.
type samplingKey struct {
	name, want string                               // want says which values there are
	set        func(s *Sampling, value string) bool // false: the value is none of them
	get        func(s *Sampling) string
}

// samplingKeys are the settings, in the order in which they are spelled out.
var samplingKeys = []samplingKey{
	choice("roots", []string{"global", "local"}, func(s *Sampling, i int) { s.Local = i == 1 }, func(s *Sampling) int { return indexOf(s.Local) }),
	choice("place", []string{"batch", "home"}, func(s *Sampling, i int) { s.Place = minibatch.Place(i) }, func(s *Sampling) int { return int(s.Place) }),
	choice("fetch", []string{"demand"}, func(*Sampling, int) {}, func(*Sampling) int { return 0 }),
	count("prefetch", maxPrefetch, func(s *Sampling) *int { return &s.Prefetch }),
}

func indexOf(second bool) int {
	if second {
		return 1
	}
	return 0
}

// choice is a key whose value is one of some names; a setting has the number of the name.
func choice(key string, names []string, set func(*Sampling, int), get func(*Sampling) int) samplingKey {
	return samplingKey{key, strings.Join(names, " or "),
		func(s *Sampling, value string) bool {
			i := slices.Index(names, value)
			if i >= 0 {
				set(s, i)
			}
			return i >= 0
		},
		func(s *Sampling) string { return names[get(s)] }}
}

// count is a key whose value is a number of steps from 1 to most.
func count(key string, most int, field func(*Sampling) *int) samplingKey {
	return samplingKey{key, fmt.Sprintf("a number of steps from 1 to %d", most),
		func(s *Sampling, value string) bool {
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > most {
				return false
			}
			*field(s) = n
			return true
		},
		func(s *Sampling) string { return strconv.Itoa(*field(s)) }}
}

// parseSampling reads NAME[,key=value...].
func parseSampling(text string) (Sampling, error) {
	name, rest, more := strings.Cut(text, ",")
	at := slices.IndexFunc(samplings, func(s Sampling) bool { return s.Name == name })
	if at < 0 {
		return Sampling{}, fmt.Errorf("%s is not one of %s", term.Quoted(name, SamplingNames()), strings.Join(SamplingNames(), ", "))
	}
	s := samplings[at]
	if !more {
		return s, nil
	}
	seen := map[string]bool{}
	for item := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(item, "=")
		if seen[key] {
			return s, fmt.Errorf("%s is said twice", key)
		}
		seen[key] = true
		if err := s.set(key, value); err != nil {
			return s, err
		}
	}
	return s, nil
}

// set changes one of the settings.
func (s *Sampling) set(key, value string) error {
	var names []string
	for _, k := range samplingKeys {
		if names = append(names, k.name); k.name != key {
			continue
		}
		if !k.set(s, value) {
			return fmt.Errorf("%s=%s: want %s", key, value, k.want)
		}
		return nil
	}
	return fmt.Errorf("no key %s: these are %s", term.Quoted(key, names), strings.Join(names, ", "))
}

// String spells everything out, so that a run can be repeated where other settings are the default.
func (s Sampling) String() string { return s.Name + "," + s.values() }

// values are the settings, without some keys.
func (s Sampling) values(without ...string) string {
	var items []string
	for _, k := range samplingKeys {
		if !slices.Contains(without, k.name) {
			items = append(items, k.name+"="+k.get(&s))
		}
	}
	return strings.Join(items, ",")
}

// Identity is what of the settings decides the bits of a run. In the order of the batch it is what it was before there were other places.
func (s Sampling) Identity() string {
	if s.Place == minibatch.Batch {
		return fmt.Sprintf("%s,roots=%s,place=batch,fetch=demand,prefetch=%d", s.Name, samplingKeys[0].get(&s), s.Prefetch)
	}
	return s.values("fetch", "prefetch")
}
