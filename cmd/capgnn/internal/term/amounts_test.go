package term

import (
	"testing"

	"capgnn/gpu"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]gpu.Bytes{"1B": 1, "4096B": 4096, "2KiB": 2048, "0.5MiB": 1 << 19, "3kB": 3000, "1TB": 1e12} {
		got, err := ParseBytes(text)
		if err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
		if back, err := ParseBytes(FormatBytes(got)); err != nil || back != got {
			t.Errorf("%s: written as %s and read as %d, %v", text, FormatBytes(got), back, err)
		}
	}
}
