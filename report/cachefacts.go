package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"capgnn/internal/runfile"
)

// hits returns so many lookups as a share of all; NaN without lookups.
func hits(c *runfile.RunCache, found int64) float64 { return float64(found) / float64(c.Lookups) }

// cacheFacts returns what a finished run says of its caches, also of some that found nothing.
func (r *Run) cacheFacts() []Fact {
	s := r.Result
	if s == nil || !r.caches() && !r.stale() {
		return nil
	}
	c := &s.Cache
	f := []Fact{{"policy", c.Policy}}
	if k := c.Capacity; k != nil {
		f = append(f, slotFacts("slots in device memory", k.Local, k.LocalUnion)...)
		f = append(f, slotFacts("slots in host memory", []int{k.Global}, []int{k.GlobalUnion})...)
		if k.SlotBytes > 0 {
			f = append(f, Fact{"a slot on a device", written(amount, float64(k.SlotBytes)) + " for all exchanges"})
		}
	}
	if c.Lookups > 0 {
		f = append(f, Fact{"lookups", fmt.Sprintf("%s: %s found in device memory, %s in host memory, %s missed", written(count, float64(c.Lookups)),
			written(share, hits(c, c.LocalHits)), written(share, hits(c, c.GlobalHits)), written(share, hits(c, c.Misses)))})
	}
	return f
}

// shownSlots is the largest number of caches whose sizes are listed one by one.
const shownSlots = 8

// slotFacts says how many slots caches have, beside the rows that there are to keep, if they are known.
func slotFacts(name string, slots, rows []int) []Fact {
	var all []string
	sum, total := 0, 0
	for i, n := range slots {
		text := written(count, float64(n))
		sum += n
		if i < len(rows) {
			text += " of " + written(count, float64(rows[i]))
			total += rows[i]
		}
		all = append(all, text)
	}
	switch {
	case len(all) == 0:
		return nil
	case len(all) > shownSlots:
		return []Fact{{name, fmt.Sprintf("%s of %s rows on %d devices", written(count, float64(sum)), written(count, float64(total)), len(all))}}
	}
	return []Fact{{name, strings.Join(all, ", ") + " rows"}}
}

// stalenessFacts returns what a finished run says of the age of rows.
func (r *Run) stalenessFacts() []Fact {
	if r.Result == nil || !r.stale() {
		return nil
	}
	s := &r.Result.Staleness
	mean := written(plain, s.Mean)
	if s.Mean == math.Trunc(s.Mean) {
		mean = written(count, s.Mean)
	}
	f := []Fact{{"allowed age", written(count, float64(s.Bound)) + " epochs"}, {"oldest row used", written(count, float64(s.MaxSeen)) + " epochs"},
		{"mean age", mean + " epochs"}}
	for _, layer := range slices.Sorted(maps.Keys(s.Period)) {
		f = append(f, Fact{"layer " + layer, refreshed(s.Period[layer])})
	}
	return f
}

// refreshed says what a refresh period means.
func refreshed(period int) string {
	if period == 1 {
		return "refreshed in every epoch"
	}
	return fmt.Sprintf("refreshed every %s epochs", written(count, float64(period)))
}
