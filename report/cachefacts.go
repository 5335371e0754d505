package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// hits returns the share of lookups with these outcomes; NaN without lookups.
func (s *Result) hits(outcomes ...string) float64 {
	found := 0.0
	for _, key := range outcomes {
		found += s.Cache.number(key)
	}
	return found / s.Cache.number("lookups")
}

// cacheFacts returns what a finished run says of its caches, also of some that found nothing.
func (r *Run) cacheFacts() []Fact {
	s := r.Result
	if s == nil || !r.caches() && !r.stale() {
		return nil
	}
	var f []Fact
	if policy, ok := s.Cache["policy"].(string); ok {
		f = append(f, Fact{"policy", policy})
	}
	capacity, _ := s.Cache["capacity"].(map[string]any)
	c := object(capacity)
	local, _ := c["local"].([]any)
	f = append(f, slotFacts("slots in device memory", local, c["union_local"])...)
	f = append(f, slotFacts("slots in host memory", []any{c["global"]}, []any{c["union_global"]})...)
	if x := c.number("slot_bytes"); x > 0 {
		f = append(f, Fact{"a slot on a device", written(amount, x) + " for all exchanges"})
	}
	if n := s.Cache.number("lookups"); n > 0 {
		f = append(f, Fact{"lookups", fmt.Sprintf("%s: %s found in device memory, %s in host memory, %s missed", written(count, n),
			written(share, s.hits("local_hits")), written(share, s.hits("global_hits")), written(share, s.hits("misses")))})
	}
	return f
}

// shownSlots is the largest number of caches whose sizes are listed one by one.
const shownSlots = 8

// slotFacts says how many slots caches have, beside the rows that there are to keep, if they are known.
func slotFacts(name string, slots []any, of any) []Fact {
	rows, _ := of.([]any)
	var all []string
	sum, total := 0.0, 0.0
	for i, x := range slots {
		n, ok := x.(float64)
		if !ok {
			return nil
		}
		text := written(count, n)
		sum += n
		if i < len(rows) {
			if m, ok := rows[i].(float64); ok {
				text += " of " + written(count, m)
				total += m
			}
		}
		all = append(all, text)
	}
	switch {
	case len(all) == 0:
		return nil
	case len(all) > shownSlots:
		return []Fact{{name, fmt.Sprintf("%s of %s rows on %d devices", written(count, sum), written(count, total), len(all))}}
	}
	return []Fact{{name, strings.Join(all, ", ") + " rows"}}
}

// stalenessFacts returns what a finished run says of the age of rows.
func (r *Run) stalenessFacts() []Fact {
	if r.Result == nil || !r.stale() {
		return nil
	}
	s := r.Result.Staleness
	var f []Fact
	for _, k := range []struct{ key, name, unit string }{
		{"bound", "allowed age", " epochs"}, {"max_seen", "oldest row used", " epochs"}, {"mean_seen", "mean age", " epochs"},
	} {
		if x := s.number(k.key); !math.IsNaN(x) {
			text := written(plain, x)
			if x == math.Trunc(x) {
				text = written(count, x)
			}
			f = append(f, Fact{k.name, text + k.unit})
		}
	}
	periods, _ := s["period"].(map[string]any)
	for _, layer := range slices.Sorted(maps.Keys(periods)) {
		if p, ok := periods[layer].(float64); ok {
			f = append(f, Fact{"layer " + layer, refreshed(p)})
		}
	}
	return f
}

// refreshed says what a refresh period means.
func refreshed(period float64) string {
	if period == 1 {
		return "refreshed in every epoch"
	}
	return fmt.Sprintf("refreshed every %s epochs", written(count, period))
}
