package devices

import (
	"strings"
	"testing"
)

// Time of processors is that of other programs unless they idle, wait for disks, or run this one; what does not read is not known.
func TestLoadOf(t *testing.T) {
	const machine, own = "cpu  100 20 30 400 50 6 7 8 90 0\ncpu0 1 2 3\n", "12 (a) b) R 1 2 3 0 -1 4 5 0 0 0 40 2 7 7 20 0"
	if others, all := loadOf(machine, own); others != 100+20+30+6+7+8-40-2 || all != 621 {
		t.Errorf("%g of %g", others, all)
	}
	for _, bad := range [][2]string{{"", own}, {machine, ""}, {"cpu 1 2", own}, {"intr 1 2 3 4 5 6 7 8 9", own}, {machine, "1 (a) R 1"}, {machine, strings.Replace(own, "40", "x", 1)}} {
		if others, all := loadOf(bad[0], bad[1]); others != 0 || all != 0 {
			t.Errorf("%q: %g of %g", bad, others, all)
		}
	}
}
