package term

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// NamesOf lists names, of many the number and the first ones; those with a comma stand in quotation marks.
func NamesOf(names []string) string {
	const shown = 8
	first := slices.Clone(names[:min(shown, len(names))])
	for i, name := range first {
		if strings.Contains(name, ",") {
			first[i] = strconv.Quote(name)
		}
	}
	text := fmt.Sprintf("%d: %s", len(names), strings.Join(first, ", "))
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > shown:
		return text + ", …"
	}
	return text
}
