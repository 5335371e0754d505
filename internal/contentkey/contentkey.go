package contentkey

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"capgnn/hostmem"
)

// Of returns the key of what is made of these things.
func Of(what string, things ...any) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", what)
	for _, x := range things {
		switch x := x.(type) {
		case []int32:
			fmt.Fprintf(h, "%d numbers\n", len(x))
			h.Write(hostmem.Bytes(x))
		case []byte:
			fmt.Fprintf(h, "%d bytes\n", len(x))
			h.Write(x)
		default:
			fmt.Fprintf(h, "%v\n", x)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
