package halo

import "testing"

func TestParseEncoding(t *testing.T) {
	for _, e := range []Encoding{FP32, BF16, Int8, Int2} {
		if got, err := ParseEncoding(e.String()); got != e || err != nil {
			t.Errorf("%v is read as %v, %v", e, got, err)
		}
	}
	if _, err := ParseEncoding("fp8"); err == nil {
		t.Error("fp8 is accepted")
	}
}
