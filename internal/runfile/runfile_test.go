package runfile

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestReadEpochs(t *testing.T) {
	line := `{"epoch":0,"loss":1,"epoch_s":1}` + "\n"
	for name, tc := range map[string]struct {
		text, want string
		epochs     int
	}{
		"none":              {"", "", 0},
		"null loss":         {`{"epoch":0,"loss":null}` + "\n", "", 1},
		"unfinished line":   {line + `{"epoch":1,"lo`, "", 1},
		"unknown keys":      {`{"epoch":0,"loss":1,"more":{"a":[1]},"new":7}` + "\n", "", 1},
		"no JSON":           {line + "loss 3\n", "line 2", 0},
		"another type":      {`{"epoch":"a"}` + "\n", "line 1", 0},
		"epochs go back":    {line + line, "line 2", 0},
		"endless line":      {`{"epoch":0,"more":"` + strings.Repeat("x", maxLineBytes) + "\"}\n", "line 1", 0},
		"endless last line": {line + strings.Repeat("x", maxLineBytes+1), "line 2", 0},
	} {
		epochs, err := ReadEpochs(strings.NewReader(tc.text))
		if tc.want == "" && (err != nil || len(epochs) != tc.epochs) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %d epochs, %v; want %d, %q", name, len(epochs), err, tc.epochs, tc.want)
		}
	}
	if _, err := ReadResult(strings.NewReader(strings.Repeat(" ", maxResultBytes+1))); err == nil {
		t.Error("a result without end was read")
	}
}

// A loss keeps the digits that identify a float32; one that is not finite is null, and null is NaN.
func TestLoss(t *testing.T) {
	for want, x := range map[string]float64{"1000.00006": 1000 + 1.0/(1<<14), "-0.1": -0.1, "null": math.NaN()} {
		got := Loss(7)
		text, err := json.Marshal(Loss(x))
		if err = errors.Join(err, json.Unmarshal(text, &got)); err != nil || string(text) != want {
			t.Errorf("%g is %s, %v; want %s", x, text, err, want)
		}
		if a, b := float32(got), float32(x); a != b && (a == a || b == b) {
			t.Errorf("%s is read as %g, was %g", text, a, b)
		}
	}
}
