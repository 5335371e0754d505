package runfolder

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
)

// keyed is the value of a flag that has keys: VALUE,KEY=VALUE,...
type keyed struct {
	head   string
	said   bool // there is a head, though it may be empty
	values []keyValue
}

type keyValue struct{ key, text string }

// keyAhead is what a KEY=VALUE begins with.
var keyAhead = regexp.MustCompile(`^\s*([a-z][a-z-]*)\s*=`)

// parseKeys reads the value of a flag with these keys. An item without a key belongs to the value before it, so
// that values may be lists.
func parseKeys(text string, keys []string) (k keyed, err error) {
	for i, item := range strings.Split(text, ",") {
		ahead := keyAhead.FindStringSubmatch(item)
		n := len(k.values)
		switch {
		case ahead == nil && slices.Contains(keys, strings.TrimSpace(item)):
			return k, fmt.Errorf("%s is not a KEY=VALUE: say %s=", item, strings.TrimSpace(item))
		case ahead == nil && i == 0:
			k.head, k.said = strings.TrimSpace(item), true
		case ahead == nil && n == 0:
			k.head += "," + strings.TrimSpace(item)
		case ahead == nil:
			k.values[n-1].text += "," + strings.TrimSpace(item)
		case !slices.Contains(keys, ahead[1]):
			return k, fmt.Errorf("%s is not one of its keys: %s", term.Quoted(ahead[1], keys), strings.Join(keys, ", "))
		case slices.ContainsFunc(k.values, func(v keyValue) bool { return v.key == ahead[1] }):
			return k, fmt.Errorf("%s stands there twice: give it once", ahead[1])
		default:
			k.values = append(k.values, keyValue{ahead[1], strings.TrimSpace(item[len(ahead[0]):])})
		}
	}
	return k, nil
}
