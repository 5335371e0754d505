package pickle

import (
	"strings"
	"testing"
)

// TestPickleRefuses: everything that Planetoid files do not hold is an error with the byte of its opcode.
func TestPickleRefuses(t *testing.T) {
	for _, c := range []struct{ name, pickle, want string }{
		{"empty", "", "byte 0: pickle is truncated"},
		{"protocol", "\x80\x04N.", "byte 0: pickle of protocol 4"},
		{"opcode", "\x80\x02]\x94.", "byte 3: pickle opcode 0x94"},
		{"global", "\x80\x02cos\nsystem\n.", `byte 2: pickle refers to "os system"`},
		{"global without end", "\x80\x02c" + strings.Repeat("x", 1000) + "\n\n.", "does not end"},
		{"call", "\x80\x02cnumpy\nndarray\n)R.", `byte 18: pickle calls "numpy ndarray"`},
		{"call of a call", "\x80\x02N)R.", "no class"},
		{"empty stack", "\x80\x02.", "empty stack"},
		{"below a mark", "\x80\x02](a.", "empty stack"},
		{"no mark", "\x80\x02]t.", "mark"},
		{"memo", "\x80\x02h\x05.", "value 5 of its memo"},
		{"left over", "\x80\x02NN.", "left over"},
		{"after the end", "\x80\x02N.N", "1 bytes after"},
		{"long text", "\x80\x02T\xff\xff\xff\x7fabc", "2147483647 bytes wanted, 3 left"},
		{"negative text", "\x80\x02T\xff\xff\xff\xffabc", "truncated"},
		{"pairs", "\x80\x02}(Nu.", "other than pairs"},
		{"keys of a list", "\x80\x02](NNu.", "keys of a list"},
		{"filling a number", "\x80\x02K\x01Na.", "neither list nor dict"},
		{"state of a number", "\x80\x02K\x01Nb.", "state of something"},
		{"big-endian", "\x80\x02cnumpy\ndtype\nU\x02i4K\x00K\x01\x87R(K\x03U\x01>tb.", "byte order"},
	} {
		_, err := Read("p", strings.NewReader(c.pickle), int64(len(c.pickle)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
