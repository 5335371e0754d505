package long

import (
	"hash/fnv"
	"os"
	"strconv"
	"testing"
)

// Few returns the first always elements of a list and one of the others: which one depends on the name of the test and on CAPGNN_TURN, so that every test has one
// of them and every three tests, or commits, have most.
func Few[T any](t testing.TB, list []T, always int) []T {
	if always >= len(list) {
		return list
	}
	turn, _ := strconv.ParseUint(os.Getenv("CAPGNN_TURN"), 10, 64) // others say that it is no number
	h := fnv.New64a()
	h.Write([]byte(t.Name()))
	rest := list[always:]
	one := rest[(h.Sum64()%uint64(len(rest))+turn%uint64(len(rest)))%uint64(len(rest))]
	return append(list[:always:always], one)
}
