package term

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"capgnn/gpu"
)

// maxAmount catches slips of the keyboard: more memory than any machine has.
const maxAmount = gpu.Bytes(1) << 50

// byteUnits are the accepted suffixes of an amount of memory, longest first.
var byteUnits = []struct {
	suffix string
	size   gpu.Bytes
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// ParseBytes reads an amount such as 8GiB, 1.5GB or 4096B.
func ParseBytes(s string) (gpu.Bytes, error) {
	for _, u := range byteUnits {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(digits, 64)
		x *= float64(u.size)
		if err != nil || !(x >= 1 && x <= float64(maxAmount)) {
			break
		}
		return gpu.Bytes(math.Round(x)), nil
	}
	return 0, errors.New("is not an amount such as 8GiB or 500MB")
}

// FormatBytes returns b in the largest binary unit that divides it, so that ParseBytes gives b back.
func FormatBytes(b gpu.Bytes) string {
	for _, u := range byteUnits[:4] {
		if b%u.size == 0 && b > 0 {
			return fmt.Sprintf("%d%s", b/u.size, u.suffix)
		}
	}
	return fmt.Sprintf("%dB", b)
}
