package cluster

import (
	"io/fs"
	"strings"
	"testing"
)

func TestSecret(t *testing.T) {
	long := strings.Repeat("x", 32)
	for text, want := range map[string]string{long: long, " " + long + "\r\n": long, strings.Repeat("x", 4096): strings.Repeat("x", 4096)} {
		if got, err := Secret([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{
		"": "is empty", "\n \n": "is empty", long[:31]: "has 31 bytes, a secret has at least 32", "\n" + long[:31] + "\n": "has 31 bytes",
		strings.Repeat("x", 4097): "more than 4096", long + "\n" + long: "one line", long + "\x00" + long: "one line",
	} {
		if _, err := Secret([]byte(text)); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "xx") {
			t.Errorf("%q: %v, want %q and not the secret", text, err, says)
		}
	}
}

func TestSecretMode(t *testing.T) {
	for mode, ok := range map[fs.FileMode]bool{0o600: true, 0o400: true, 0o700: true, 0o640: false, 0o604: false, 0o644: false, 0o620: false, 0o602: false} {
		if err := CheckSecretMode(mode); (err == nil) != ok {
			t.Errorf("%o: %v", mode, err)
		}
	}
}
