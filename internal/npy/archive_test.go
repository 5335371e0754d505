package npy

import (
	"bytes"
	"errors"
	"hash/crc32"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zip"
)

func small(t testing.TB, how Archiving) []byte {
	var b bytes.Buffer
	err := WriteArchive(&b, []Entry{
		{"x", []int{2, 3}, []float32{1, 2, 3, 4, 5, 6}},
		{"indptr", nil, []int64{0, 1, 2}},
		{"y", nil, []int64{0, 1}},
	}, how)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArchiveIsDeterministic(t *testing.T) {
	for _, how := range []Archiving{{}, {Deflate: true}} {
		if !bytes.Equal(small(t, how), small(t, how)) {
			t.Errorf("%+v: two runs differ", how)
		}
	}
	for _, c := range []struct {
		how  Archiving
		want []string
	}{{Archiving{}, []string{"x", "indptr", "y"}}, {Archiving{Sort: true}, []string{"indptr", "x", "y"}}} {
		b := small(t, c.how)
		z, err := ReadArchive(bytes.NewReader(b), int64(len(b)), "t.npz")
		if err != nil || !reflect.DeepEqual(z.Keys(), c.want) {
			t.Errorf("%+v: keys %v, %v, want %v", c.how, z.Keys(), err, c.want)
		}
	}
}

func TestMissingKeyNamesTheOthers(t *testing.T) {
	b := small(t, Archiving{})
	z, err := ReadArchive(bytes.NewReader(b), int64(len(b)), "t.npz")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Array("labels"); err == nil || !strings.Contains(err.Error(), `"labels"; it has: x indptr y`) {
		t.Errorf("got %v", err)
	}
}

// touch reads every array of an archive as every type and returns the first error.
func touch(b []byte) error {
	z, err := ReadArchive(bytes.NewReader(b), int64(len(b)), "t.npz")
	if err != nil {
		return err
	}
	for _, key := range z.Keys() {
		a, err := z.Array(key)
		if err != nil {
			return err
		}
		if _, err := a.Float32(); err != nil {
			return err
		}
	}
	return nil
}

func TestDamagedArchives(t *testing.T) {
	for _, how := range []Archiving{{}, {Deflate: true}} {
		good := small(t, how)
		for n := range good {
			var f *FormatError
			if err := touch(good[:n]); !errors.As(err, &f) {
				t.Fatalf("%+v: cut at %d: %v", how, n, err)
			}
		}
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 0x5a
			var f *FormatError
			if err := touch(bad); err != nil && (!errors.As(err, &f) || f.File != "t.npz") {
				t.Fatalf("%+v: byte %d flipped: %v", how, i, err)
			}
		}
	}
}

func TestChecksumIsVerified(t *testing.T) {
	good := small(t, Archiving{})
	at := bytes.Index(good, []byte{0, 0, 0xc0, 0x40}) // 6.0, the last element of x
	good[at] ^= 1
	if err := touch(good); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("got %v, want a checksum error", err)
	}
}

// member builds an archive of one deflated or stored member with forged sizes.
func forged(t testing.TB, method uint16, body []byte, full uint64) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	m, err := w.CreateRaw(&zip.FileHeader{Name: "x.npy", Method: method, CRC32: crc32.ChecksumIEEE(body), CompressedSize64: uint64(len(body)), UncompressedSize64: full})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestHugeSizesDoNotAllocate: headers that promise terabytes cost no more than the first block.
func TestHugeSizesDoNotAllocate(t *testing.T) {
	header := raw(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }")
	full := uint64(len(header)) + 4e12
	// A deflate stream of one stored block: the member says 1000 times its size and then ends.
	stored := append([]byte{1, byte(len(header)), 0, ^byte(len(header)), 0xff}, header...)
	soft := raw(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (16000,), }")
	softBody := append([]byte{1, byte(len(soft)), 0, ^byte(len(soft)), 0xff}, soft...)
	cases := []struct {
		name string
		file []byte
	}{
		{"plain file", nil},
		{"stored", forged(t, zip.Store, header, full)},
		{"deflated, impossible ratio", forged(t, zip.Deflate, stored, full)},
		{"deflated, possible ratio", forged(t, zip.Deflate, softBody, uint64(len(soft)+64000))},
		{"unknown method", forged(t, 99, header, full)},
	}
	for _, c := range cases {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var err error
		if c.file == nil {
			_, err = parse(header)
		} else {
			err = touch(c.file)
		}
		runtime.ReadMemStats(&after)
		var f *FormatError
		if !errors.As(err, &f) {
			t.Errorf("%s: got %v, want a FormatError", c.name, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 2*firstBytes {
			t.Errorf("%s: allocated %d bytes", c.name, grown)
		}
	}
}

func FuzzArchive(f *testing.F) {
	f.Add(small(f, Archiving{}))
	f.Add(small(f, Archiving{Deflate: true}))
	f.Add(forged(f, zip.Store, raw(1, "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }"), 1<<40))
	f.Fuzz(func(t *testing.T, b []byte) {
		z, err := ReadArchive(bytes.NewReader(b), int64(len(b)), "t.npz")
		if err != nil {
			return
		}
		for _, key := range z.Keys() {
			if a, err := z.Array(key); err == nil {
				readAll(t, a, maxRatio*int64(len(b)+1))
			}
		}
	})
}
