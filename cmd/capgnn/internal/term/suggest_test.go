package term

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	commands := []string{"demo", "train", "partition", "plan", "predict", "data", "profile", "report", "learning-rate"}
	for word, want := range map[string]string{
		"trian": "train", "Train": "train", "trainn": "train", "rtain": "train", "part": "partition", "plann": "plan", "pred": "predict",
		"reprot": "report", "x": "", "": "", "zzzzzz": "", "dat": "data", "file": "", "rate": "learning-rate", strings.Repeat("train", 100): "", "\xff\xfe": "",
	} {
		if got := Nearest(word, commands); got != want {
			t.Errorf("%.20q: got %q, want %q", word, got, want)
		}
	}
	for pair, want := range map[[2]string]int{{"", ""}: 0, {"ab", ""}: 2, {"", "abc"}: 3, {"kitten", "sitting"}: 3, {"ab", "ba"}: 1, {"abcd", "acbd"}: 1, {"ca", "abc"}: 3} {
		if got := editDistance(pair[0], pair[1]); got != want {
			t.Errorf("%q to %q: got %d, want %d", pair[0], pair[1], got, want)
		}
	}
}
