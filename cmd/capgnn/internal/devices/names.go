package devices

import (
	"fmt"
	"strings"
)

// InWords writes a list of devices in words: 2 rtx3090 + a40.
func InWords(list string) string {
	specs, err := Parse(list)
	if err != nil {
		return list
	}
	var names []string
	count := map[string]int{}
	for _, s := range specs {
		s.Label = ""
		n := s.String()
		if s.Simulated() {
			n = strings.TrimPrefix(n, "sim:")
		}
		if count[n]++; count[n] == 1 {
			names = append(names, n)
		}
	}
	for i, n := range names {
		if count[n] > 1 {
			names[i] = fmt.Sprintf("%d %s", count[n], n)
		}
	}
	return strings.Join(names, " + ")
}
