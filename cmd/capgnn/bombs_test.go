package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zip"

	"capgnn/internal/npy"
)

// header is the head of a .npy file of any claim.
func header(descr, shape string) []byte {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	dict += strings.Repeat(" ", 127-10-len(dict)%64) + "\n"
	dict = dict[:len(dict)-(len(dict)+10)%64-1] + "\n"
	return append(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(dict))), dict...)
}

// hollow makes a file of size bytes that begins with head and holds nothing but zeros behind it, nor needs a disk for them.
func (s *sandbox) hollow(name string, head []byte, size int64) {
	s.T.Helper()
	s.put(name, head)
	if err := os.Truncate(s.path(name), size); err != nil {
		s.T.Fatal(err)
	}
}

// bomb is a deflated array of zeros, about a thousandth of its size.
type bomb struct {
	key   string
	head  []byte
	bytes int64 // of zeros
}

// write appends the bomb to an archive. A stream of zeros is one block, repeated: matches reach back no further than it.
func (b bomb) write(t *testing.T, z *zip.Writer) {
	t.Helper()
	const block = 1 << 20
	var packed bytes.Buffer
	f, err := flate.NewWriter(&packed, 6)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, block)
	flushed := func(p []byte) []byte {
		packed.Reset()
		if _, err := f.Write(p); err != nil {
			t.Fatal(err)
		}
		if err := f.Flush(); err != nil {
			t.Fatal(err)
		}
		return bytes.Clone(packed.Bytes())
	}
	parts := [][]byte{flushed(b.head)}
	sum := crc32.ChecksumIEEE(b.head)
	flushed(zeros)
	whole := flushed(zeros)
	further := over(zeros)
	for range b.bytes / block {
		parts, sum = append(parts, whole), further(sum)
	}
	parts = append(parts, flushed(zeros[:b.bytes%block]))
	sum = crc32.Update(sum, crc32.IEEETable, zeros[:b.bytes%block])
	packed.Reset()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	all := bytes.Join(append(parts, packed.Bytes()), nil)
	w, err := z.CreateRaw(&zip.FileHeader{Name: b.key + ".npy", Method: zip.Deflate, CRC32: sum,
		CompressedSize64: uint64(len(all)), UncompressedSize64: uint64(len(b.head)) + uint64(b.bytes)})
	if err == nil {
		_, err = w.Write(all)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// over returns crc32.Update over these bytes as a function of the sum before them. That function is affine in its bits.
func over(p []byte) func(uint32) uint32 {
	at0 := crc32.Update(0, crc32.IEEETable, p)
	var bits [32]uint32 // what each changes
	for i := range bits {
		bits[i] = crc32.Update(1<<i, crc32.IEEETable, p) ^ at0
	}
	return func(sum uint32) uint32 {
		out := at0
		for i, change := range bits {
			if sum>>i&1 == 1 {
				out ^= change
			}
		}
		return out
	}
}

// Sums over bombs are those of their bytes.
func TestOver(t *testing.T) {
	p := []byte("a line of text")
	next, sum, whole := over(p), uint32(0), []byte(nil)
	for range 5 {
		sum, whole = next(sum), append(whole, p...)
		if want := crc32.ChecksumIEEE(whole); sum != want {
			t.Fatalf("sum of %d bytes %x, want %x", len(whole), sum, want)
		}
	}
}

// bombs writes an archive of bombs and plain arrays.
func (s *sandbox) bombs(name string, list []bomb, plain ...npy.Entry) {
	s.T.Helper()
	create(s.T, s.path(name), false, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, e := range plain {
			m, err := z.Create(e.Key + ".npy")
			if err == nil {
				err = npy.Write(m, e.Shape, e.Data)
			}
			if err != nil {
				return err
			}
		}
		for _, b := range list {
			b.write(s.T, z)
		}
		return z.Close()
	})
}

func entry(key string, data any, shape ...int) npy.Entry {
	return npy.Entry{Key: key, Shape: shape, Data: data}
}

// repeat writes s until there are size bytes.
func repeat(w io.Writer, s string, size int) error {
	block := []byte(strings.Repeat(s, (1<<16)/len(s)))
	for range size / len(block) {
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	return nil
}

// saintOf writes a GraphSAINT folder of two vertices with these JSON files.
func saintOf(s *sandbox, name string, classes, roles []byte) {
	s.bombs(name+"/adj_full.npz", nil, entry("indptr", []int32{0, 1, 2}), entry("indices", []int32{1, 0}), entry("shape", []int64{2, 2}), entry("data", []uint8{1, 1}))
	s.put(name+"/class_map.json", classes)
	s.put(name+"/role.json", roles)
	s.bombs(name+"/x.npz", nil)
	create(s.T, s.path(name+"/feats.npy"), false, func(w io.Writer) error { return npy.Write(w, []int{2, 1}, []float32{0, 1}) })
}

// planetoidOf writes a Planetoid set whose files are all the same pickle.
func planetoidOf(s *sandbox, name string, pickle []byte) {
	for _, what := range []string{"x", "y", "tx", "ty", "allx", "ally", "graph"} {
		s.put("ind."+name+"."+what, pickle)
	}
	s.put("ind."+name+".test.index", []byte("1\n"))
}

// ogbOf writes an OGB folder.
func ogbOf(s *sandbox, name, vertices, count, edges, feat string) {
	for file, text := range map[string]string{"num-node-list": vertices, "num-edge-list": count, "edge": edges, "node-feat": feat} {
		if text == "" {
			continue
		}
		create(s.T, s.path(filepath.Join(name, "raw", file+".csv.gz")), false, func(w io.Writer) error {
			z := gzip.NewWriter(w)
			_, err := io.WriteString(z, text)
			return errors.Join(err, z.Close())
		})
	}
}
