package tfevents

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The vectors of RFC 3720, B.4, for CRC-32C, and what the mask makes of them by TensorFlow's formula, by hand:
// rotate right by 15, add 0xa282ead8.
func TestMaskedCRC(t *testing.T) {
	ascending := make([]byte, 32)
	for i := range ascending {
		ascending[i] = byte(i)
	}
	for _, tc := range []struct {
		data   []byte
		crc    uint32
		masked uint32
	}{
		{nil, 0, 0xa282ead8},
		{[]byte("123456789"), 0xe3069283, 0xc78ab0e5},
		{make([]byte, 32), 0x8a9136aa, 0x0fd7fffa},
		{bytes.Repeat([]byte{0xff}, 32), 0x62a8ab43, 0xf909b029},
		{ascending, 0x46dd794e, 0x951f7892},
	} {
		if got := crc32.Checksum(tc.data, castagnoli); got != tc.crc {
			t.Errorf("CRC-32C of %x is %08x, want %08x", tc.data, got, tc.crc)
		}
		if got := maskedCRC(tc.data); got != tc.masked {
			t.Errorf("masked CRC-32C of %x is %08x, want %08x", tc.data, got, tc.masked)
		}
	}
}

// The first bytes of every event file that TensorFlow writes: length 24, its masked checksum, a wall time, and the version.
func TestFileBegins(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, time.Unix(1700000000, 5e8), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data := readAll(t, dir)[0]
	want := "\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7fK\"\x09" + string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(1700000000.5))) +
		"\x1a\x0dbrain.Event:2"
	if !strings.HasPrefix(string(data), want) {
		t.Errorf("file begins %q, want %q", data, want)
	}
}

// readAll returns the content of the files of a folder in the order of their names.
func readAll(t *testing.T, dir string) [][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	var out [][]byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, data)
	}
	return out
}

// records undoes the framing, checking both checksums.
func records(t *testing.T, data []byte) [][]byte {
	t.Helper()
	le := binary.LittleEndian
	var out [][]byte
	for len(data) > 0 {
		if len(data) < 16 || le.Uint32(data[8:]) != maskedCRC(data[:8]) || le.Uint64(data) > uint64(len(data)-16) {
			t.Fatalf("no record in %x", data)
		}
		n := le.Uint64(data)
		body := data[12:][:n]
		if le.Uint32(data[12+n:]) != maskedCRC(body) {
			t.Fatalf("checksum of %x", body)
		}
		out, data = append(out, body), data[16+n:]
	}
	return out
}

// fields decodes one protobuf message whose fields occur once: integers, float bits, or bytes.
func fields(t *testing.T, b []byte) map[int]any {
	t.Helper()
	out := map[int]any{}
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		b = b[n:]
		switch key & 7 {
		case wireVarint:
			v, n := binary.Uvarint(b)
			out[int(key>>3)], b = v, b[n:]
		case wire64:
			out[int(key>>3)], b = math.Float64frombits(binary.LittleEndian.Uint64(b)), b[8:]
		case wire32:
			out[int(key>>3)], b = math.Float32frombits(binary.LittleEndian.Uint32(b)), b[4:]
		case wireBytes:
			size, n := binary.Uvarint(b)
			out[int(key>>3)], b = b[n:][:size], b[n+int(size):]
		default:
			t.Fatalf("wire type %d", key&7)
		}
	}
	return out
}

func TestScalars(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, time.Unix(1700000000, 0), 300)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Scalars(time.Unix(1700000001, 0), 301, []Scalar{{"loss", 0.1}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Scalars(time.Unix(1700000002, 0), 1<<40, []Scalar{{strings.Repeat("t", 300), math.NaN()}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	events := records(t, readAll(t, dir)[0])
	if len(events) != 4 {
		t.Fatalf("%d events, want 4", len(events))
	}
	start := fields(t, events[1])
	if log := fields(t, start[eventSessionLog].([]byte)); start[eventStep] != uint64(300) || log[sessionLogStatus] != uint64(sessionStatus) {
		t.Errorf("start of session %v %v", start, log)
	}
	for i, want := range []struct {
		wall  float64
		step  uint64
		tag   string
		value float32
	}{{1700000001, 301, "loss", 0.1}, {1700000002, 1 << 40, strings.Repeat("t", 300), float32(math.NaN())}} {
		e := fields(t, events[2+i])
		v := fields(t, fields(t, e[eventSummary].([]byte))[summaryValue].([]byte))
		got := v[valueSimple].(float32)
		same := got == want.value || got != got && want.value != want.value
		if e[eventWallTime] != want.wall || e[eventStep] != want.step || string(v[valueTag].([]byte)) != want.tag || !same {
			t.Errorf("event %v with value %v, want %v", e, v, want)
		}
	}
}

// Files sort in the order of their making, also within one second and when the clock went back.
func TestOrderOfFiles(t *testing.T) {
	dir := t.TempDir()
	for i, now := range []int64{1700000000, 1700000000, 1600000000, 1800000000} {
		w, err := Create(dir, time.Unix(now, 0), int64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	if err := os.WriteFile(filepath.Join(dir, prefix+"later"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for i, data := range readAll(t, dir)[:4] {
		if step := fields(t, records(t, data)[1])[eventStep]; step != uint64(i+1) {
			t.Errorf("file %d starts at step %d, want %d", i, step, i+1)
		}
	}
	if _, err := Create(filepath.Join(dir, "nowhere"), time.Unix(0, 0), 0); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("error %v does not name the folder", err)
	}
}
