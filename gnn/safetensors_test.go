package gnn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSafetensorsRoundTrip(t *testing.T) {
	for name, cfg := range layoutModels() {
		t.Run(name, func(t *testing.T) {
			w := NewWeights(netOf(cfg))
			w.Init(3)
			path := filepath.Join(t.TempDir(), "model.safetensors")
			meta := map[string]string{"model": name, "note": "<ε & \"quotes\">"}
			if err := WriteSafetensors(path, w, meta); err != nil {
				t.Fatal(err)
			}
			first, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := WriteSafetensors(path, w, meta); err != nil {
				t.Fatal(err)
			}
			if second, err := os.ReadFile(path); err != nil || !bytes.Equal(first, second) {
				t.Errorf("written twice, the bytes differ (%v)", err)
			}
			if files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(files) != 1 {
				t.Errorf("left behind: %v", files)
			}
			if n := binary.LittleEndian.Uint64(first); n%8 != 0 {
				t.Errorf("header of %d bytes: the data is not aligned", n)
			}
			ts, err := ReadSafetensors(path)
			if err != nil {
				t.Fatal(err)
			}
			got := NewWeights(netOf(cfg))
			if err := got.LoadStateDict(ts); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Flat, w.Flat) {
				t.Error("weights differ after a round trip")
			}
		})
	}
}

// TestSafetensorsBytes fixes the format: other programs read it.
func TestSafetensorsBytes(t *testing.T) {
	w := &Weights{Flat: []float32{1, 0, -2, 3}}
	w.Tensors = []Tensor{{Name: "b", Shape: []int{1}, Off: 0}, {Name: "a", Shape: []int{1, 2}, Off: 2}}
	w.alias()
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := WriteSafetensors(path, w, map[string]string{"format": "pt"}); err != nil {
		t.Fatal(err)
	}
	header := `{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},` +
		`"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`
	header += strings.Repeat(" ", (8-len(header)%8)%8)
	want := "" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header +
		"\x00\x00\x00\xc0\x00\x00\x40\x40\x00\x00\x80\x3f"
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestWriteSafetensorsKeepsTheOldFileOnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.safetensors")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteSafetensors(path, NewWeights(netOf(layoutModels()["gcn"])), map[string]string{"a": "\xff"}); err == nil {
		t.Error("metadata that is not UTF-8 was written")
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the file is now %q", got)
	}
	if err := WriteSafetensors(filepath.Join(dir, "none", "x"), NewWeights(netOf(layoutModels()["gcn"])), nil); err == nil {
		t.Error("a folder that does not exist was written to")
	}
}

// safetensorsFile returns a file with the given header and data.
func safetensorsFile(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func TestReadSafetensorsTypes(t *testing.T) {
	var data []byte
	for _, v := range []float64{1.0 / 3, -1e300} {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	for _, h := range []uint16{0x3c00, 0xc000, 0x0001, 0x8000, 0x7bff, 0x7c00, 0x03ff, 0x0400} {
		data = binary.LittleEndian.AppendUint16(data, h)
	}
	data = append(data, 0x80, 0x3f, 0x49, 0xc0, 0x80, 0x3f) // bf16 1, -3.140625, 1
	file := safetensorsFile(`{"d":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},
		"h":{"dtype":"F16","shape":[2,4],"data_offsets":[16,32]}, "b":{"dtype":"BF16","shape":[2],"data_offsets":[32,36]},
		"s":{"dtype":"BF16","shape":[],"data_offsets":[36,38]}, "__metadata__":{"a":"b"}}`, data...)
	got, err := readSafetensors(bytes.NewReader(file), int64(len(file)), "f")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		shape []int
		data  []float32
	}{
		"d": {[]int{2}, []float32{1.0 / 3, -plusInf}},
		"h": {[]int{2, 4}, []float32{1, -2, 0x1p-24, float32(math.Copysign(0, -1)), 65504, plusInf, 1023 * 0x1p-24, 0x1p-14}},
		"b": {[]int{2}, []float32{1, -3.140625}},
		"s": {[]int{}, []float32{1}},
	}
	if len(got) != len(want) {
		t.Errorf("tensors %v", got)
	}
	for name, x := range want {
		if got := got[name]; !slices.Equal(got.Shape, x.shape) || !slices.Equal(got.Data, x.data) {
			t.Errorf("%s: got shape %v, values %v, want %v", name, got.Shape, got.Data, x)
		}
	}
	if z := got["h"].Data[3]; !math.Signbit(float64(z)) {
		t.Error("minus zero lost its sign")
	}
}

func TestReadSafetensorsRefuses(t *testing.T) {
	entry := func(name, dtype, shape string, from, to int) string {
		return fmt.Sprintf(`%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, dtype, shape, from, to)
	}
	eight := make([]byte, 8)
	a := entry("a", "F32", "[1]", 0, 4)
	cases := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "byte 0: file of 0 bytes"},
		{"half a length", []byte{1, 2}, "byte 0: file of 2 bytes"},
		{"huge header", binary.LittleEndian.AppendUint64(nil, 1<<63), "byte 0: header of 9223372036854775808 bytes"},
		{"header beyond the file", binary.LittleEndian.AppendUint64(nil, 1), "byte 0: header of 1 bytes"},
		{"not an object", safetensorsFile("[1]"), "byte 8: header: is not a JSON object"},
		{"cut JSON", safetensorsFile(`{"a":`), "byte 8: header"},
		{"two objects", safetensorsFile(`{}{}`), "after the JSON object"},
		{"twice", safetensorsFile("{"+a+","+a+"}", eight...), `name "a" occurs twice`},
		{"overlap", safetensorsFile("{"+a+","+entry("b", "F32", "[2]", 0, 8)+"}", eight...), `tensor "b": starts at 0`},
		{"gap", safetensorsFile("{"+entry("a", "F32", "[1]", 4, 8)+"}", eight...), `tensor "a": starts at 4`},
		{"more data", safetensorsFile("{"+a+"}", eight...), "end at 4 of 8"},
		{"less data", safetensorsFile("{"+entry("a", "F32", "[4]", 0, 16)+"}", eight...), "offsets [0 16]"},
		{"backwards", safetensorsFile("{"+entry("a", "F32", "[1]", 8, 4)+"}", eight...), "offsets [8 4]"},
		{"negative offset", safetensorsFile("{"+entry("a", "F32", "[1]", -4, 0)+"}", eight...), "byte 8: header: tensor \"a\""},
		{"three offsets", safetensorsFile(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}`, eight...), "offsets [0 4 8]"},
		{"wrong size", safetensorsFile("{"+entry("a", "F32", "[3]", 0, 8)+"}", eight...), "needs 12 bytes, its range has 8"},
		{"overflow", safetensorsFile("{" + entry("a", "F32", "[4294967296,4294967296]", 0, 0) + "}"), "is impossible"},
		{"negative shape", safetensorsFile("{"+entry("a", "F32", "[-1,-2]", 0, 8)+"}", eight...), "is impossible"},
		{"no shape", safetensorsFile(`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, eight[:4]...), "no shape"},
		{"integers", safetensorsFile("{"+entry("a", "I64", "[1]", 0, 8)+"}", eight...), `dtype "I64"`},
		{"no element", safetensorsFile(`{"a":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]}}`), `tensor "a" has shape [0 7], so no element`},
		{"metadata", safetensorsFile(`{"__metadata__":{"a":1}}`), "metadata"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := readSafetensors(bytes.NewReader(c.file), int64(len(c.file)), "f.safetensors")
			var format *FormatError
			if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "f.safetensors: byte ") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestReadSafetensorsTruncated cuts a good file at every length.
func TestReadSafetensorsTruncated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := WriteSafetensors(path, NewWeights(netOf(layoutModels()["gcn one"])), nil); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		var format *FormatError
		if _, err := readSafetensors(bytes.NewReader(whole[:n]), int64(n), "f"); !errors.As(err, &format) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(whole), err)
		}
	}
}

func FuzzReadSafetensors(f *testing.F) {
	f.Add([]byte(`{"a":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},"__metadata__":{"k":"v"}}`), []byte{0, 1, 2, 3})
	f.Add([]byte(`{"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}}`),
		[]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte(`{"a":{"dtype":"F32","shape":[1073741824,1073741824,4],"data_offsets":[0,0]}}`), []byte{})
	f.Fuzz(func(t *testing.T, header, data []byte) {
		file := safetensorsFile(string(header), data...)
		ts, err := readSafetensors(bytes.NewReader(file), int64(len(file)), "f")
		var format *FormatError
		if err != nil {
			if !errors.As(err, &format) {
				t.Errorf("untyped error %v", err)
			}
			return
		}
		total := 0
		for name, x := range ts {
			if product(x.Shape) != len(x.Data) {
				t.Errorf("%s: %d elements of shape %v", name, len(x.Data), x.Shape)
			}
			total += len(x.Data)
		}
		if 2*total > len(data) {
			t.Errorf("%d elements from %d bytes", total, len(data))
		}
	})
}
