package room

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

func TestFor(t *testing.T) {
	for _, n := range []int64{0, 1, 64 << 20} {
		if err := For(n); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	var short *Short
	for _, n := range []int64{1 << 50, math.MaxInt64} {
		if err := For(n); !errors.As(err, &short) || short.Bytes != n || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// Under a limit of the address space what was promised is given, and what would end the process is refused.
func TestUnderLimit(t *testing.T) {
	if os.Getenv("CAPGNN_TEST_ROOM") != "" {
		if For(8<<30) == nil {
			t.Error("8 GiB were promised under a limit of 2 GiB")
		}
		var blocks [][]byte
		for For(128<<20) == nil {
			blocks = append(blocks, make([]byte, 128<<20))
		}
		if len(blocks) < 2 {
			t.Errorf("%d blocks of 128 MiB were promised under a limit of 2 GiB", len(blocks))
		}
		runtime.KeepAlive(blocks)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("needs ulimit -v")
	}
	cmd := exec.Command("sh", "-c", `ulimit -v 2097152 && exec "$0" -test.run=TestUnderLimit`, os.Args[0])
	cmd.Env = append(os.Environ(), "CAPGNN_TEST_ROOM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
