package ranks

import (
	"slices"
	"strings"
	"testing"
)

// A command line is read as the parser does, and continues the run that it began.
func TestResuming(t *testing.T) {
	for _, tc := range []struct{ args, folder, again string }{
		{"train --dataset cora", "", "train --dataset cora --resume F"},
		{"train --run-dir a --dataset cora", "a", "train --dataset cora --resume F"},
		{"train -run-dir=a --epochs 3 --run-dir b", "b", "train --epochs 3 --resume F"},
		{"train --config c.yaml --epochs 3 --run-dir=", "", "train --epochs 3 --resume F"},
		{"train --run-dir a --overwrite --quiet", "a", "train --quiet --resume F"},
		{"train --resume old --quiet", "", "train --quiet --resume F"},
		{"train --run-dir", "", "train --resume F"},
		{"train --run-directory a", "", "train --run-directory a --resume F"},
	} {
		args := strings.Fields(tc.args)
		if got := ValueOf(args, "run-dir"); got != tc.folder {
			t.Errorf("%s: run folder %q, want %q", tc.args, got, tc.folder)
		}
		if got := strings.Join(Resuming(args, "F"), " "); got != tc.again || !slices.Equal(args, strings.Fields(tc.args)) {
			t.Errorf("%s: %s, want %s", tc.args, got, tc.again)
		}
	}
}

// The result of rank 0 is not marked, and a fault that names its rank is not either.
func TestResultIsAsOfOneProcess(t *testing.T) {
	l, out, stderr := launch(t, 2, "", "out:hello", "1/err:capgnn: rank 1 (host h): no luck", "1/exit:3")
	result := &safe{}
	l.Result = result
	err := l.Run()
	if result.String() != "hello\n" || !strings.HasPrefix(out.String(), "[1 ") || strings.Count(out.String(), "hello") != 1 {
		t.Errorf("result %q, others %q", result, out)
	}
	if err == nil || err.Error() != "rank 1 (host h): no luck" || !strings.Contains(stderr.String(), "] capgnn: rank 1 (host h): no luck\n") {
		t.Errorf("%v\n%s", err, stderr)
	}
}
