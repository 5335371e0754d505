package diskcache

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"capgnn/pipeline"
)

// pieces returns pieces of random bytes of these lengths, and the bytes.
func pieces(lengths ...int) ([]pipeline.Piece, map[string][]byte) {
	var out []pipeline.Piece
	want := map[string][]byte{}
	r := rand.NewChaCha8([32]byte{7})
	for i, n := range lengths {
		name, raw := fmt.Sprintf("piece/%d", i), make([]byte, n)
		r.Read(raw)
		want[name] = raw
		out = append(out, pipeline.Piece{Name: name, Size: int64(n), Write: func(w io.Writer) error {
			for part := range slices.Chunk(raw, 70_001) { // writers do not know of blocks
				if _, err := w.Write(part); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	return out, want
}

func encoded(t testing.TB, key string, p []pipeline.Piece) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encodeCache(&b, key, "test", p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCacheFile(t *testing.T) {
	for _, lengths := range [][]int{{}, {0}, {1}, {64, 0, 63}, {5, checkedBlock - 1, 3*checkedBlock + 9, 2}} {
		p, want := pieces(lengths...)
		data := encoded(t, "key", p)
		got, err := decodeCache(data, "key")
		if err != nil {
			t.Fatalf("%v: %v", lengths, err)
		}
		if len(got) != len(want) {
			t.Errorf("%v: %d pieces", lengths, len(got))
		}
		for name, raw := range want {
			if !bytes.Equal(got[name], raw) {
				t.Errorf("%v: %s has other bytes", lengths, name)
			}
			if at := bytes.Index(data, raw); len(raw) > 50 && at%64 != 0 {
				t.Errorf("%v: %s lies at byte %d", lengths, name, at)
			}
		}
		if _, err := decodeCache(data, "other"); err == nil {
			t.Errorf("%v: taken for another key", lengths)
		}
		if !bytes.Equal(data, encoded(t, "key", p)) {
			t.Errorf("%v: equal pieces give other bytes", lengths)
		}
	}
}

// A file that is not all there, or in which any byte differs, is refused with the place.
func TestCacheFileDamaged(t *testing.T) {
	p, _ := pieces(300, checkedBlock+1000, 17)
	good := encoded(t, "key", p)
	refused := func(what string, data []byte) {
		t.Helper()
		if _, err := decodeCache(data, "key"); err == nil || !strings.HasPrefix(err.Error(), "byte ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for k := range 400 {
		at := r.IntN(len(good))
		if k < 200 {
			at = k // magic, version, header
		}
		bad := slices.Clone(good)
		bad[at] ^= 1 << r.IntN(8)
		refused(fmt.Sprintf("byte %d changed", at), bad)
		refused(fmt.Sprintf("cut at %d", at), good[:at])
	}
	refused("longer", append(slices.Clone(good), 0))
	refused("last byte missing", good[:len(good)-1])
}

// A header that promises what is not there is refused whatever its checksums say.
func TestCacheFileHostile(t *testing.T) {
	file := func(head string) []byte {
		b := binary.LittleEndian.AppendUint32([]byte(cacheMagic), cacheVersion)
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(head))), head...)
		b = append(b, make([]byte, aligned64(int64(len(b)))-int64(len(b))+64)...)
		return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	}
	if _, err := decodeCache(file(`{"key":"k","pieces":[{"name":"a","size":64}]}`), "k"); err != nil {
		t.Fatalf("the file that the others differ from: %v", err)
	}
	for name, head := range map[string]string{
		"negative": `{"key":"k","pieces":[{"name":"a","size":-64}]}`,
		"huge":     `{"key":"k","pieces":[{"name":"a","size":9223372036854775807}]}`,
		"sum":      `{"key":"k","pieces":[{"name":"a","size":64},{"name":"b","size":9223372036854775743}]}`,
		"twice":    `{"key":"k","pieces":[{"name":"a","size":32},{"name":"a","size":0}]}`,
		"short":    `{"key":"k","pieces":[{"name":"a","size":0}]}`,
		"no json":  `{"key":"k","pieces":[{"name":"a","size":64}]`,
		"words":    `{"key":"k","pieces":[{"name":"a","size":"64"}]}`,
	} {
		if _, err := decodeCache(file(head), "k"); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func FuzzCacheFile(f *testing.F) {
	for _, lengths := range [][]int{{}, {100}, {0, 64, 65}} {
		p, _ := pieces(lengths...)
		f.Add(encoded(f, "key", p))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeCache(data, "key")
		if err != nil {
			return
		}
		total := 0
		for _, p := range got {
			total += len(p)
		}
		if total > len(data) {
			t.Errorf("%d bytes of pieces in %d bytes", total, len(data))
		}
	})
}
