package term

import (
	"fmt"
	"strings"
)

// NamesOf lists names, of many the number and the first ones.
func NamesOf(names []string) string {
	const shown = 8
	text := fmt.Sprintf("%d: %s", len(names), strings.Join(names[:min(shown, len(names))], ", "))
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > shown:
		return text + ", …"
	}
	return text
}
