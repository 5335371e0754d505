package ranks

import (
	"fmt"
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		name, ends  string // rank:code in the order of ending, ! = told to end, ? = without a word
		interrupted bool
		want        string
	}{
		{"all done", "1:0 0:0", false, "none"},
		{"out of memory, then echoes", "1:3 0:4 2:4", false, "1:3"},
		{"an echo is faster", "0:4 1:3", false, "1:3"},
		{"killed, then echoes", "1:-1 0:4 2:4", false, "0:4"},
		{"killed, others stopped", "1:-1 0:130! 2:130!", false, "1:4"},
		{"killed, others done", "1:-1 0:0", false, "1:4"},
		{"all differ", "0:2 1:2", false, "0:2"},
		{"usage before others join", "1:2 0:130!", false, "1:2"},
		{"a rank that was told to end fails", "1:-1 0:1!", false, "1:4"},
		{"lost, killed after", "1:4 0:-1!", false, "1:4"},
		{"somebody interrupts a rank", "1:130 0:130", false, "1:130"},
		{"interrupted", "1:130 0:130", true, "1:130"},
		{"interrupted, one notices the other", "1:4 0:130", true, "0:130"},
		{"interrupted with a full disk", "1:130 0:1", true, "0:1"},
		{"interrupted, then killed by another", "1:-1 0:130", true, "0:130"},
		{"interrupted twice", "1:-1! 0:-1!", true, "1:130"},
		{"somebody interrupts a rank twice", "1:130? 0:130", false, "0:130"},
		{"somebody interrupts the only rank that says nothing", "1:130? 0:0", false, "1:130"},
		{"interrupted at the end", "1:0 0:0", true, "none"},
	} {
		var list []ended
		for word := range strings.FieldsSeq(tc.ends) {
			var e ended
			word, e.forced = strings.CutSuffix(word, "!")
			word, e.mute = strings.CutSuffix(word, "?")
			fmt.Sscanf(word, "%d:%d", &e.rank, &e.code)
			list = append(list, e)
		}
		got := "none"
		if f := verdict(list, tc.interrupted); f != nil {
			got = fmt.Sprintf("%d:%d", f.Rank, f.Code)
		}
		if got != tc.want {
			t.Errorf("%s: %s gives %s, want %s", tc.name, tc.ends, got, tc.want)
		}
	}
}

// A line that names its rank names it once.
func TestFailedNamesItsRank(t *testing.T) {
	for line, want := range map[string]string{
		"no room": "rank 1 (host a): no room", "rank 0 (host b): no room": "rank 0 (host b): no room",
		"interrupted: rank 0 (host b) was stopped": "interrupted: rank 0 (host b) was stopped", "interrupted: now": "rank 1 (host a): interrupted: now",
	} {
		if got := (&Failed{Rank: 1, Host: "a", Line: line}).Error(); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
