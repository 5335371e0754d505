package cluster

import (
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestSecret(t *testing.T) {
	long, longest := "ox3EG0vQ7dYt1cPz9KfLm5sWbJ8uRhTn", strings.Repeat("ox3EG0vQ7dYt1cPz9KfLm5sWbJ8uRhTn", 128)
	for text, want := range map[string]string{long: long, " " + long + "\r\n": long, longest: longest} {
		if got, err := Secret([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{
		"": "is empty", "\n \n": "is empty", long[:31]: "has 31 bytes, a secret has at least 32", "\n" + long[:31] + "\n": "has 31 bytes",
		longest + "x": "more than 4096", long + "\n" + long: "one line", long + "\x00" + long: "one line",
	} {
		if _, err := Secret([]byte(text)); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "ox3") {
			t.Errorf("%q: %v, want %q and not the secret", text, err, says)
		}
	}
}

// A secret that a few words or a rule describe is refused; random ones are not, in any usual alphabet.
func TestWeakSecrets(t *testing.T) {
	for _, weak := range []string{
		strings.Repeat("x", 64), strings.Repeat("ab", 32), strings.Repeat("password", 4), strings.Repeat("1234567890", 5), "abcdefghijklmnopqrstuvwxyz0123456789",
		"0123456789abcdef0123456789abcdef", strings.Repeat("changeme-please!", 2), strings.Repeat("secret!", 9),
	} {
		if _, err := Secret([]byte(weak)); err == nil || !strings.Contains(err.Error(), "too easy to guess") || strings.Contains(err.Error(), weak) {
			t.Errorf("%q: %v", weak, err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, alphabet := range []string{"0123456789", "0123456789abcdef", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"} {
		for range 1000 {
			s := make([]byte, MinSecret)
			for i := range s {
				s[i] = alphabet[random.IntN(len(alphabet))]
			}
			if _, err := Secret(s); err != nil {
				t.Fatalf("%q: %v", s, err)
			}
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
