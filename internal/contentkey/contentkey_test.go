package contentkey

import "testing"

// Things have other keys than their parts put together otherwise, and the same key whenever they are equal.
func TestKeys(t *testing.T) {
	seen := map[string]int{}
	for k, things := range [][]any{{}, {1}, {"1", ""}, {[]int32{1, 2}}, {[]int32{1}, []int32{2}}, {[]byte{1, 0, 0, 0, 2, 0, 0, 0}}, {[]int32{}}, {[]byte{}}} {
		key := Of("test", things...)
		if other, ok := seen[key]; ok {
			t.Errorf("cases %d and %d have one key", other, k)
		}
		if seen[key] = k; key != Of("test", things...) || key == Of("other", things...) {
			t.Errorf("case %d: key %s", k, key)
		}
	}
}
