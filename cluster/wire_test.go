package cluster

import (
	"strings"
	"testing"
)

func TestHeaderRoundTrip(t *testing.T) {
	for kind := Beat; kind < kinds; kind++ {
		want := Header{Kind: kind, Area: 1<<32 - 1, Epoch: 7, Offset: MaxArea, Length: kind.limit(), Sum: 9}
		var b [HeaderBytes]byte
		want.Put(&b)
		if got, err := ParseHeader(&b); err != nil || got != want {
			t.Errorf("kind %d: got %+v, %v, want %+v", kind, got, err, want)
		}
	}
}

func TestHeaderRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(b *[HeaderBytes]byte)
		want   string
	}{
		"magic":         {func(b *[HeaderBytes]byte) { b[0]++ }, "begins with"},
		"kind 0":        {func(b *[HeaderBytes]byte) { b[4] = 0 }, "unknown kind 0"},
		"kind beyond":   {func(b *[HeaderBytes]byte) { b[4] = byte(kinds) }, "unknown kind"},
		"reserved":      {func(b *[HeaderBytes]byte) { b[6] = 1 }, "unknown kind"},
		"4 GiB":         {func(b *[HeaderBytes]byte) { b[24], b[25], b[26], b[27] = 255, 255, 255, 255 }, "announces 4294967295 bytes"},
		"one too many":  {func(b *[HeaderBytes]byte) { b[24], b[26] = 1, 4 }, "announces 262145 bytes"},
		"offset":        {func(b *[HeaderBytes]byte) { b[23] = 0x80 }, "has offset"},
		"beat with 1 B": {func(b *[HeaderBytes]byte) { b[4], b[24] = byte(Beat), 1 }, "announces 1 bytes, 0"},
	} {
		var b [HeaderBytes]byte
		Header{Kind: Rows}.Put(&b)
		tc.change(&b)
		if _, err := ParseHeader(&b); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

func TestSumSeesEveryBit(t *testing.T) {
	var b [HeaderBytes]byte
	Header{Kind: Rows, Area: 3, Length: 2}.Put(&b)
	body := []byte{1, 2}
	PutSum(&b, body)
	h, err := ParseHeader(&b)
	if err != nil || h.Sum != Sum(&b, body) {
		t.Fatalf("sum %x, want %x, %v", h.Sum, Sum(&b, body), err)
	}
	for bit := range 8 * (HeaderBytes - 4 + len(body)) {
		c, other := b, []byte{1, 2}
		if i := bit / 8; i < HeaderBytes-4 {
			c[i] ^= 1 << (bit % 8)
		} else {
			other[i-(HeaderBytes-4)] ^= 1 << (bit % 8)
		}
		if Sum(&c, other) == h.Sum {
			t.Errorf("bit %d: the sum is the same", bit)
		}
	}
}

func FuzzHeader(f *testing.F) {
	var b [HeaderBytes]byte
	Header{Kind: Rows, Area: 1, Epoch: 2, Offset: 3, Length: 4, Sum: 5}.Put(&b)
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, in []byte) {
		var b, again [HeaderBytes]byte
		copy(b[:], in)
		h, err := ParseHeader(&b)
		if err != nil {
			return
		}
		if h.Put(&again); again != b {
			t.Errorf("%x is read as %+v, which is %x", b, h, again)
		}
		if h.Offset > MaxArea || h.Length > MaxJSON {
			t.Errorf("%+v is beyond its bounds", h)
		}
	})
}

func TestHelloRoundTripAndProof(t *testing.T) {
	want := Hello{Protocol: Protocol, Role: Data, Plain: true, Rank: 3, Ranks: 4, Nonce: [32]byte{1, 2}}
	var b [HelloBytes]byte
	want.Put(&b)
	got, err := ParseHello(&b)
	if err != nil || got != want {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
	proof := Proof([]byte("key"), want, [32]byte{3}, true)
	other := want
	other.Rank = 2
	for name, p := range map[string][32]byte{
		"another key":    Proof([]byte("kez"), want, [32]byte{3}, true),
		"another rank":   Proof([]byte("key"), other, [32]byte{3}, true),
		"another answer": Proof([]byte("key"), want, [32]byte{4}, true),
		"reflected":      Proof([]byte("key"), want, [32]byte{3}, false),
	} {
		if p == proof {
			t.Errorf("%s has the same proof", name)
		}
	}
}

func FuzzHello(f *testing.F) {
	var b [HelloBytes]byte
	Hello{Protocol: Protocol, Role: Control, Rank: 1, Ranks: 2}.Put(&b)
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, in []byte) {
		var b [HelloBytes]byte
		copy(b[:], in)
		h, err := ParseHello(&b)
		if err != nil {
			return
		}
		var again [HelloBytes]byte
		h.Put(&again)
		if g, err := ParseHello(&again); err != nil || g != h {
			t.Errorf("%+v is read again as %+v, %v", h, g, err)
		}
	})
}

func TestCheckDepth(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"a":[[1]]}`:        true,
		`{"a":[[[1]]]}`:      false,
		`"[[[[[[["`:          true,
		`"\"[[[["`:           true,
		`"\\"[[[[`:           false,
		`[][][][][]`:         true,
		"":                   true,
		"]]]]]]":             true,
		`["{{{{",["}}"],[]]`: true,
	} {
		if err := CheckDepth([]byte(text), 3); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
