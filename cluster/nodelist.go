package cluster

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Nodes is a list of hosts as Slurm writes it, such as `n[01-03,7],login1,r[1-2]n[1-4]`: items between commas or blanks, in which
// brackets hold numbers and ranges. It stays as short as its text, however many hosts it names.
//
// Source: `scontrol show hostnames` of Slurm 22.05, with which the tests agree. A number is as wide as the lower end of its
// range is written: [01-3] is 01, 02, 03, and [9-10] is 9, 10. Of several brackets the last one counts fastest, then from the
// first to the last but one. What Slurm takes without a sense is refused: open brackets, `3-`. What it refuses is taken where it has one:
// text behind the last bracket, ranges of more than 65536 hosts.
type Nodes struct {
	items []nodeItem
	count uint64
}

// nodeItem is text with brackets: texts[0] brackets[0] texts[1] … texts[len(brackets)].
type nodeItem struct {
	texts    []string
	brackets []bracket
	count    uint64 // of hosts
}

// bracket is what stands between brackets.
type bracket struct {
	ranges []nodeRange
	count  uint64 // of numbers
}

// nodeRange is the numbers from low to high, written with zeros in front up to width digits.
type nodeRange struct {
	low, high uint64
	width     int
}

// ParseNodes reads a list. It names at least one host.
func ParseNodes(list string) (Nodes, error) {
	var n Nodes
	for _, text := range splitNodes(list) {
		item, err := parseItem(text)
		if err != nil {
			return Nodes{}, fmt.Errorf("node list %q: %w", list, err)
		}
		n.items = append(n.items, item)
		if n.count += item.count; n.count < item.count {
			return Nodes{}, fmt.Errorf("node list %q: too many hosts", list)
		}
	}
	if n.count == 0 {
		return Nodes{}, fmt.Errorf("node list %q names no host", list)
	}
	return n, nil
}

// Count is how many hosts the list names, repeated ones included.
func (n Nodes) Count() uint64 { return n.count }

// Host returns the i-th host, from 0 on.
func (n Nodes) Host(i uint64) string {
	for _, item := range n.items {
		if i < item.count {
			return item.host(i)
		}
		i -= item.count
	}
	panic("cluster: no such host in a node list")
}

// splitNodes cuts a list at the commas, blanks and tabs that are outside of brackets. Nothing between two of them is no item.
func splitNodes(list string) []string {
	inside := false
	return strings.FieldsFunc(list, func(r rune) bool {
		switch r {
		case '[':
			inside = true
		case ']':
			inside = false
		case ',', ' ', '\t':
			return !inside
		}
		return false
	})
}

// parseItem reads an item, and makes sure that its first host has a name or an address that can be one: the others differ in digits.
func parseItem(text string) (nodeItem, error) {
	item := nodeItem{count: 1}
	for rest := text; ; {
		before, behind, opened := strings.Cut(rest, "[")
		item.texts = append(item.texts, before)
		if !opened {
			break
		}
		inner, after, closed := strings.Cut(behind, "]")
		if !closed {
			return item, errors.New("a bracket is not closed")
		}
		b, err := parseBracket(inner)
		if err != nil {
			return item, err
		}
		item.brackets = append(item.brackets, b)
		over, count := bits.Mul64(item.count, b.count)
		if over > 0 {
			return item, errors.New("too many hosts")
		}
		item.count, rest = count, after
	}
	return item, checkHost(item.host(0))
}

// parseBracket reads numbers and ranges between commas.
func parseBracket(text string) (bracket, error) {
	var b bracket
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		r := nodeRange{width: len(low)}
		var err, err2 error
		r.low, err = strconv.ParseUint(low, 10, 63)
		r.high, err2 = strconv.ParseUint(high, 10, 63)
		if err != nil || err2 != nil || r.low > r.high || r.width > maxHostName {
			return b, fmt.Errorf("%q is neither a number nor a range such as 01-16", part)
		}
		b.ranges = append(b.ranges, r)
		if b.count += r.high - r.low + 1; b.count>>63 > 0 {
			return b, errors.New("too many hosts")
		}
	}
	return b, nil
}

// host returns the i-th host of an item.
func (t nodeItem) host(i uint64) string {
	last := len(t.brackets) - 1
	numbers := make([]string, len(t.brackets))
	pick := func(b int) {
		numbers[b] = t.brackets[b].number(i % t.brackets[b].count)
		i /= t.brackets[b].count
	}
	if last >= 0 {
		pick(last)
	}
	for b := range last {
		pick(b)
	}
	var name strings.Builder
	for b, text := range t.texts {
		name.WriteString(text)
		if b <= last {
			name.WriteString(numbers[b])
		}
	}
	return name.String()
}

// number returns the i-th number.
func (b bracket) number(i uint64) string {
	for _, r := range b.ranges {
		if n := r.high - r.low + 1; i >= n {
			i -= n
			continue
		}
		return fmt.Sprintf("%0*d", r.width, r.low+i)
	}
	panic("cluster: no such number in brackets")
}
