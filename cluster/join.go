package cluster

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Facts are the data that a rank sends about itself when it joins. Unknown facts are empty at all ranks.
type Facts struct {
	Protocol     int               `json:"protocol"`
	Version      string            `json:"version"` // of the program
	Ranks        int               `json:"ranks"`   // that this rank expects
	Rank         int               `json:"rank"`
	Host         string            `json:"host"`
	Data         string            `json:"data_sha256"`
	Plan         string            `json:"plan"`   // hashes of what was derived
	Layout       string            `json:"layout"` // from the plan
	Options      map[string]string `json:"options"`
	Instructions string            `json:"instructions"` // of the processor that kernels use
	Devices      int               `json:"devices"`
}

// localOptions may differ between ranks: where things lie on a machine, and what computes there. The data set itself is compared by its hash.
var localOptions = []string{"dataset", "dataset-path", "devices", "profile", "run-dir"}

// IsLocal reports whether an option may differ between ranks.
func IsLocal(option string) bool { return slices.Contains(localOptions, option) }

// maxJSONDepth is how deep objects and arrays of control messages may be nested.
const maxJSONDepth = 32

// Bounds of Facts that a rank may send. Read, they take little more memory than their text, of which there is one per rank.
const (
	maxFacts      = 64 << 10 // bytes of JSON
	maxOptions    = 1024
	maxFactText   = 32 << 10 // bytes of an option
	maxShownValue = 60       // characters of a value in an error
)

// Encode returns the facts as JSON.
func (f Facts) Encode() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(f)
	if err == nil && len(text) > maxFacts {
		return nil, fmt.Errorf("say what this rank is: %d bytes of JSON, %d are allowed", len(text), maxFacts)
	}
	return text, err
}

// DecodeFacts is the inverse of Encode. The text may be anybody's.
func DecodeFacts(text []byte) (Facts, error) {
	var f Facts
	if err := decodeJSON(text, maxFacts, &f); err != nil {
		return Facts{}, fmt.Errorf("read what a rank says of itself: %w", err)
	}
	if err := f.check(); err != nil {
		return Facts{}, fmt.Errorf("read what a rank says of itself: %w", err)
	}
	return f, nil
}

// decodeJSON reads one JSON value of bounded size and depth, whose fields are all known.
func decodeJSON(text []byte, most int, into any) error {
	if len(text) > most {
		return fmt.Errorf("%d bytes of JSON, %d are allowed", len(text), most)
	}
	if err := CheckDepth(text, maxJSONDepth); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON")
	}
	return nil
}

// check reports facts that no rank has.
func (f Facts) check() error {
	switch {
	case f.Ranks < 1 || f.Ranks > MaxRanks:
		return fmt.Errorf("%d ranks, 1 to %d are possible", f.Ranks, MaxRanks)
	case f.Rank < 0 || f.Rank >= f.Ranks:
		return fmt.Errorf("rank %d of %d", f.Rank, f.Ranks)
	case f.Devices < 0:
		return fmt.Errorf("%d devices", f.Devices)
	case len(f.Options) > maxOptions:
		return fmt.Errorf("%d options, %d are possible", len(f.Options), maxOptions)
	}
	texts := []string{f.Version, f.Host, f.Data, f.Plan, f.Layout, f.Instructions}
	for name, value := range f.Options {
		texts = append(texts, name, value)
	}
	for _, t := range texts {
		if len(t) > maxFactText || !utf8.ValidString(t) {
			return fmt.Errorf("a text of %d bytes is too long or no UTF-8", len(t))
		}
	}
	return nil
}

// Compare returns the first difference that forbids a run with these ranks, nil if there is none. It compares each
// rank with the lowest one, fact by fact, so that all ranks get the same error, whatever the order of the list.
func Compare(list []Facts) error {
	all := byRank(list)
	if len(all) == 0 {
		return nil
	}
	for _, fact := range comparedFacts(all) {
		a := all[0]
		for _, b := range all[1:] {
			if x, y := fact.of(a), fact.of(b); x != y {
				return fmt.Errorf("%s of %s is %s, of %s it is %s: %s", fact.name, b.who(), shown(y), a.who(), shown(x), fact.remedy)
			}
		}
	}
	for i, f := range all {
		if i > 0 && f.Rank == all[i-1].Rank {
			return fmt.Errorf("rank %d is on host %s and again on host %s: give each process a rank of its own", f.Rank, shown(all[i-1].Host), shown(f.Host))
		}
		if f.Devices == 0 {
			return fmt.Errorf("%s has no device: name one with --devices, or leave the machine out", f.who())
		}
	}
	return nil
}

// Warnings returns a line for every rank that computes with other instructions than the lowest one: the same sums may be rounded
// differently there.
func Warnings(list []Facts) (lines []string) {
	all := byRank(list)
	for _, f := range all {
		if a := all[0]; f.Instructions != a.Instructions {
			lines = append(lines, fmt.Sprintf("%s computes with %s, %s with %s: results equal those of other machines to rounding, not to the bit",
				f.who(), shown(f.Instructions), a.who(), shown(a.Instructions)))
		}
	}
	return lines
}

// byRank returns the list in an order that depends on nothing but its content.
func byRank(list []Facts) []Facts {
	return slices.SortedStableFunc(slices.Values(list), func(a, b Facts) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Host, b.Host))
	})
}

// fact is one thing in which all ranks agree.
type fact struct {
	name, remedy string
	of           func(Facts) string
}

// comparedFacts returns what is compared, in the order in which a difference counts.
func comparedFacts(all []Facts) []fact {
	const sameProgram = "start the same program on all machines"
	facts := []fact{
		{"protocol", sameProgram, func(f Facts) string { return strconv.Itoa(f.Protocol) }},
		{"version", sameProgram, func(f Facts) string { return f.Version }},
		{"number of ranks", "start all ranks with the same number", func(f Facts) string { return strconv.Itoa(f.Ranks) }},
		{"SHA-256 of the data set", "copy the data set of one machine to the others", func(f Facts) string { return f.Data }},
	}
	names := map[string]bool{}
	for _, f := range all {
		for name := range f.Options {
			names[name] = !IsLocal(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] {
			facts = append(facts, fact{"--" + name, "start all ranks with the same options", func(f Facts) string {
				if value, ok := f.Options[name]; ok {
					return value
				}
				return "not known"
			}})
		}
	}
	const derived = "this is a fault of the program, please report it with both machines' `capgnn version`"
	return append(facts,
		fact{"plan", derived, func(f Facts) string { return f.Plan }},
		fact{"layout", derived, func(f Facts) string { return f.Layout }})
}

// who names a rank and its host.
func (f Facts) who() string { return fmt.Sprintf("rank %d (host %s)", f.Rank, shown(f.Host)) }

// shown writes a value of another machine for an error: quoted where it is not a plain word, cut where it is long.
func shown(s string) string {
	if r := []rune(s); len(r) > maxShownValue {
		s = string(r[:maxShownValue]) + "…"
	}
	if q := strconv.Quote(s); q != `"`+s+`"` || s == "" {
		return q
	}
	return s
}
