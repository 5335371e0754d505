package runfolder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/jaca"
	"capgnn/minibatch"
	"capgnn/minibatch/rowcache"
)

// Sampling is how the steps of sampled training are made: what --sampling says.
type Sampling struct {
	Name      string // of the preset that the other settings began with
	Local     bool   // every part draws roots from its own training vertices; else those of a step are drawn over all parts
	Place     minibatch.Place
	NoMerge   bool // with Hop: time steps stay as many as parts
	Measured  bool // with Hop: times decide how many are dropped
	NoGather  bool // with Hop: rows are fetched for each unit of a step
	AutoFetch bool // Fetch is planned where rows of other parts cross links or RowCache says how many are kept, else demand
	Fetch     rowcache.Rules
	RowCache  jaca.Size // of each part, for rows of others
	Prefetch  int       // steps that are sampled before they are computed
}

const (
	samplingDefault = "default"
	defaultPrefetch = 3
	// maxPrefetch bounds how many steps are sampled ahead: each takes memory, and more than a few hide nothing.
	maxPrefetch = 64
	// maxSteps bounds the other numbers of steps; it is more than any epoch has.
	maxSteps = 1 << 20
)

// samplingUsage is the help of --sampling.
const samplingUsage = "how mini-batches are made: `NAME` is default, or distdgl, rapidgnn, massivegnn or hopgnn (the settings of these systems)" +
	"\nroots=HOW\tglobal (drawn over all parts) or local (each part draws from its own training vertices)" +
	"\nplace=WHERE\ta root is computed: home (at the part that has its features), batch (each part takes the next ones, equally many) or " +
	"hop (as HopGNN: at home, in several time steps, between which gradients travel)" +
	"\nmerge=HOW\tof place=hop, time steps are merged: off (never), on (until the fewest bytes travel) or measured (as long as " +
	"epochs get faster; another run may merge others, but for one by its config.yaml)" +
	"\ngather=on|off\tof place=hop: rows are fetched once for all time steps" +
	"\nfetch=HOW\trows of other parts come: demand (no cache), planned (the row whose next read is farthest leaves the cache), " +
	"rapid (the cache keeps the rows that an epoch reads most), massive (the cache keeps rows by scores), or auto = planned over links and with cache=, else demand" +
	"\ncache=SIZE\tof each part's cache for rows of other parts, in host memory: rows (20000), a share of those that an epoch reads (15%), " +
	"memory (2GiB), or auto = half of what memory leaves; rapidgnn has 15%" +
	"\nlookahead=STEPS\tof fetch=planned: a number, or all" +
	"\npull=on|off\tof fetch=rapid" +
	"\nf=SHARE\tof fetch=massive: of halo rows that are kept (default: 0.25)" +
	"\ngamma=SHARE\tof fetch=massive: what is left of a score behind a step (default: 0.995)" +
	"\ndelta=STEPS\tof fetch=massive: between two rounds of replacement (default: 64)" +
	"\nprefetch=STEPS\thow many mini-batches are sampled ahead"

// samplings are the presets, the default first. Those of papers have the papers' settings.
var samplings = []Sampling{
	{Name: samplingDefault, Place: minibatch.Home, AutoFetch: true, Fetch: rulesOf(rowcache.Planned), Prefetch: defaultPrefetch},
	{Name: "distdgl", Local: true, Fetch: rulesOf(rowcache.Demand), Prefetch: defaultPrefetch},
	{Name: "rapidgnn", Local: true, Fetch: pulling(rulesOf(rowcache.Rapid)), RowCache: jaca.Percent(15), Prefetch: 3},
	{Name: "massivegnn", Local: true, Fetch: rulesOf(rowcache.Massive), Prefetch: 1},
	{Name: "hopgnn", Place: minibatch.Hop, Fetch: rulesOf(rowcache.Demand), Prefetch: defaultPrefetch},
}

// SettledSampling returns how steps are made with parts on these devices: with fetch=auto rows are kept where they cross links, or cache says how many.
// Isolated parts have roots of their own and fetch nothing.
func (c *Config) SettledSampling(devices []gpu.Device) Sampling {
	s := c.Sampling.Value
	if s.AutoFetch && (len(devices) == 1 || s.RowCache == jaca.Size{}) {
		s.Fetch.Kind = minibatch.DefaultFetch(devices).Kind
	}
	if s.AutoFetch = false; c.Isolated.Value != nil {
		s.Local, s.Place, s.Fetch.Kind = true, minibatch.Batch, rowcache.Demand
	}
	return s
}

// rulesOf returns the rules of a policy with every setting said.
func rulesOf(k rowcache.Kind) rowcache.Rules {
	return rowcache.Rules{Kind: k, Lookahead: 64, Share: 0.25, Gamma: 0.995, Delta: 64}
}

// pulling is rules with RapidGNN's way to fill the cache.
func pulling(r rowcache.Rules) rowcache.Rules {
	r.Pull = true
	return r
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
	of         string               // settings that give it a meaning
	means      func(*Sampling) bool // whether they are there; nil: always
}

// samplingKeys are the settings, in the order in which they are spelled out.
var samplingKeys = []samplingKey{
	choice("roots", []string{"global", "local"}, func(s *Sampling, i int) { s.Local = i == 1 }, func(s *Sampling) int { return indexOf(s.Local) }),
	choice("place", []string{"batch", "home", "hop"}, func(s *Sampling, i int) { s.Place = minibatch.Place(i) }, func(s *Sampling) int { return int(s.Place) }),
	choice("merge", []string{"off", "on", "measured"}, func(s *Sampling, i int) { s.NoMerge, s.Measured = i == 0, i == 2 }, (*Sampling).merge).only("place=hop", (*Sampling).hops),
	onOff("gather", func(s *Sampling) *bool { return &s.NoGather }, true).only("place=hop", (*Sampling).hops),
	choice("fetch", []string{"demand", "planned", "rapid", "massive", "auto"}, (*Sampling).setFetch, (*Sampling).fetch),
	steps("lookahead", maxSteps, true, func(s *Sampling) *int { return &s.Fetch.Lookahead }).only("fetch=planned", fetches(rowcache.Planned)),
	onOff("pull", func(s *Sampling) *bool { return &s.Fetch.Pull }, false).only("fetch=rapid", fetches(rowcache.Rapid)),
	share("f", func(s *Sampling) *float64 { return &s.Fetch.Share }).only("fetch=massive", fetches(rowcache.Massive)),
	share("gamma", func(s *Sampling) *float64 { return &s.Fetch.Gamma }).only("fetch=massive", fetches(rowcache.Massive)),
	steps("delta", maxSteps, false, func(s *Sampling) *int { return &s.Fetch.Delta }).only("fetch=massive", fetches(rowcache.Massive)),
	{name: "cache", want: "a size: rows (20000), a share of the rows of other parts that an epoch reads (15%), memory (2GiB) or auto",
		set: func(s *Sampling, value string) bool {
			size, err := jaca.ParseSize(value)
			s.RowCache = size
			return err == nil
		},
		get: func(s *Sampling) string { return s.RowCache.String() },
		of:  "fetch=planned, rapid, massive or auto", means: func(s *Sampling) bool { return s.AutoFetch || s.Fetch.Kind != rowcache.Demand }},
	steps("prefetch", maxPrefetch, false, func(s *Sampling) *int { return &s.Prefetch }),
}

// only says with which settings the key has a meaning.
func (k samplingKey) only(of string, means func(*Sampling) bool) samplingKey {
	k.of, k.means = of, means
	return k
}

func (s *Sampling) hops() bool { return s.Place == minibatch.Hop }

func fetches(kind rowcache.Kind) func(*Sampling) bool {
	return func(s *Sampling) bool { return s.Fetch.Kind == kind }
}

// merge is the number of the value of that key.
func (s *Sampling) merge() int {
	switch {
	case s.NoMerge:
		return 0
	case s.Measured:
		return 2
	}
	return 1
}

func (s *Sampling) fetch() int {
	if s.AutoFetch {
		return int(rowcache.Massive) + 1
	}
	return int(s.Fetch.Kind)
}

func (s *Sampling) setFetch(i int) {
	if s.AutoFetch = i > int(rowcache.Massive); s.AutoFetch {
		i = int(rowcache.Planned)
	}
	s.Fetch.Kind = rowcache.Kind(i)
}

func indexOf(second bool) int {
	if second {
		return 1
	}
	return 0
}

// choice is a key whose value is one of some names; a setting has the number of the name.
func choice(key string, names []string, set func(*Sampling, int), get func(*Sampling) int) samplingKey {
	return samplingKey{name: key, want: strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1],
		set: func(s *Sampling, value string) bool {
			i := slices.Index(names, value)
			if i >= 0 {
				set(s, i)
			}
			return i >= 0
		},
		get: func(s *Sampling) string { return names[get(s)] }}
}

// onOff is a key whose value is on or off, for a setting that says the one or, if it is negated, the other.
func onOff(key string, field func(*Sampling) *bool, negated bool) samplingKey {
	return choice(key, []string{"off", "on"}, func(s *Sampling, i int) { *field(s) = (i == 1) != negated }, func(s *Sampling) int { return indexOf(*field(s) != negated) })
}

// steps is a key whose value is a number of steps from 1 to most, or with all those to the end of the run.
func steps(key string, most int, all bool, field func(*Sampling) *int) samplingKey {
	want := fmt.Sprintf("a number of steps from 1 to %d", most)
	if all {
		want += ", or all"
	}
	return samplingKey{name: key, want: want,
		set: func(s *Sampling, value string) bool {
			n, err := strconv.Atoi(value)
			if all && value == "all" {
				n, err = rowcache.All, nil
			} else if n > most {
				return false
			}
			if err == nil && n > 0 {
				*field(s) = n
			}
			return err == nil && n > 0
		},
		get: func(s *Sampling) string {
			if n := *field(s); !all || n != rowcache.All {
				return strconv.Itoa(n)
			}
			return "all"
		}}
}

// share is a key whose value is above 0, and at most 1.
func share(key string, field func(*Sampling) *float64) samplingKey {
	return samplingKey{name: key, want: "a number above 0, at most 1",
		set: func(s *Sampling, value string) bool {
			x, err := strconv.ParseFloat(value, 64)
			ok := err == nil && x > 0 && x <= 1
			if ok {
				*field(s) = x
			}
			return ok
		},
		get: func(s *Sampling) string { return strconv.FormatFloat(*field(s), 'g', -1, 64) }}
}

// parseSampling reads NAME[,key=value...].
func parseSampling(text string) (Sampling, error) {
	name, _, more := strings.Cut(text, ",")
	at := slices.IndexFunc(samplings, func(s Sampling) bool { return s.Name == name })
	if strings.Contains(name, "=") {
		return Sampling{}, fmt.Errorf("a name comes before its keys, as in %s,%s", samplingDefault, name)
	}
	if at < 0 {
		return Sampling{}, fmt.Errorf("%s is not one of %s", term.Quoted(name, SamplingNames()), strings.Join(SamplingNames(), ", "))
	}
	s := samplings[at]
	if !more {
		return s, nil
	}
	var names []string
	for _, k := range samplingKeys {
		names = append(names, k.name)
	}
	k, err := parseKeys(text, names)
	if err == nil && k.head != name {
		err = fmt.Errorf("%q is not a KEY=VALUE, such as roots=local", strings.TrimPrefix(k.head, name+","))
	}
	if err != nil {
		return s, err
	}
	for _, v := range k.values {
		if k := samplingKeys[slices.Index(names, v.key)]; !k.set(&s, v.text) {
			return s, fmt.Errorf("%s=%s is not %s", v.key, v.text, k.want)
		}
	}
	for _, v := range k.values {
		if k := samplingKeys[slices.Index(names, v.key)]; k.means != nil && !k.means(&s) {
			return s, fmt.Errorf("%s=%s is for %s only: drop it", v.key, v.text, k.of)
		}
	}
	return s, nil
}

// String spells everything out, so that a run can be repeated where other settings are the default.
func (s Sampling) String() string {
	return s.Name + "," + s.values(func(samplingKey) bool { return true })
}

// brief says the preset, and the three choices that it makes.
func (s Sampling) brief() string {
	text := s.values(func(k samplingKey) bool { return k.name == "roots" || k.name == "place" || k.name == "fetch" })
	return s.Name + ": " + strings.ReplaceAll(text, ",", " ")
}

// values are some of the settings that mean something.
func (s Sampling) values(which func(samplingKey) bool) string {
	var items []string
	for _, k := range samplingKeys {
		if (k.means == nil || k.means(&s)) && which(k) {
			items = append(items, k.name+"="+k.get(&s))
		}
	}
	return strings.Join(items, ",")
}

// Identity is what of the settings decides the bits of a run.
func (s Sampling) Identity() string {
	return s.values(func(k samplingKey) bool { return k.name == "roots" || k.name == "place" || k.name == "merge" })
}

// RowCacheSize returns how many rows of other parts each part keeps.
func (c *Config) RowCacheSize() minibatch.CacheSize {
	if c.Sampling.Value.Fetch.Kind == rowcache.Demand {
		return minibatch.CacheSize{}
	}
	return cacheSize(c.Sampling.Value.RowCache)
}

// ResidentSize returns how many feature rows of its part each GPU keeps in sampled training.
func (c *Config) ResidentSize() minibatch.CacheSize { return cacheSize(c.GPUCache.Value) }

// cacheSize is a size in the words of package minibatch.
func cacheSize(of jaca.Size) (size minibatch.CacheSize) {
	number := of.String()
	switch {
	case of == jaca.Size{}:
		return size
	case strings.HasSuffix(number, "%"):
		size, number = minibatch.CacheSize{Unit: minibatch.CacheShare}, strings.TrimSuffix(number, "%")
	case strings.HasSuffix(number, "B"):
		size, number = minibatch.CacheSize{Unit: minibatch.CacheBytes}, strings.TrimSuffix(number, "B")
	default:
		size.Unit = minibatch.CacheRows
	}
	size.N, _ = strconv.ParseFloat(number, 64) // which jaca has written
	if size.Unit == minibatch.CacheShare {
		size.N /= 100
	}
	return size
}
