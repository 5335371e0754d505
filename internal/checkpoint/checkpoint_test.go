package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/hostmem"
	"capgnn/internal/atomicfile"
)

// sample has every section; floats include NaN with a payload, infinities and minus zero.
func sample(epoch int) *File { return fileOf(epoch, 20_011) }

// fileOf is the same with n weights.
func fileOf(epoch, n int) *File {
	fill := func(seed uint32) Section {
		x := make([]float32, 20_011)
		for i := range x {
			seed = seed*1664525 + 1013904223
			x[i] = math.Float32frombits(seed)
		}
		x[3] = float32(math.Copysign(0, -1))
		return bytes.NewReader(hostmem.Bytes(x[:n]))
	}
	return &File{
		Identity: "sha256:\x00\xff", Epoch: epoch, Step: 3 * epoch,
		Weights: fill(1), M: fill(2), V: fill(3), VMax: fill(4), BestWeights: fill(5),
		Best:  []byte(`{"Train":0.3333333333333333,"Val":0.3,"Test":null}`),
		State: []byte(`{"patience":3}`),
		Sections: map[string]Section{"halo/1": bytes.NewReader([]byte{1, 2, 3}), "halo/0": bytes.NewReader(nil),
			"": bytes.NewReader([]byte{9})},
	}
}

// contentOf reads a section that can be read again.
func contentOf(s Section) []byte {
	if s == nil {
		return nil
	}
	all, err := io.ReadAll(s)
	if _, serr := s.(io.Seeker).Seek(0, io.SeekStart); err != nil || serr != nil {
		panic(errors.Join(err, serr))
	}
	return all
}

// arraysOf lists the arrays of a checkpoint.
func arraysOf(c *File) []Section { return []Section{c.Weights, c.M, c.V, c.VMax, c.BestWeights} }

// equal compares bit for bit; empty and nil are the same.
func equal(a, b *File) bool {
	for i, x := range arraysOf(a) {
		if !bytes.Equal(contentOf(x), contentOf(arraysOf(b)[i])) {
			return false
		}
	}
	if len(a.Sections) != len(b.Sections) {
		return false
	}
	for name, x := range a.Sections {
		if y, ok := b.Sections[name]; !ok || !bytes.Equal(contentOf(x), contentOf(y)) {
			return false
		}
	}
	return a.Identity == b.Identity && a.Epoch == b.Epoch && a.Step == b.Step && bytes.Equal(a.State, b.State) && bytes.Equal(a.Best, b.Best)
}

func encoded(t testing.TB, c *File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, c); err != nil {
		t.Fatal(err)
	}
	for _, s := range append(arraysOf(c), slices.Collect(maps.Values(c.Sections))...) {
		if s != nil {
			_, _ = s.(io.Seeker).Seek(0, io.SeekStart) // in memory
		}
	}
	return b.Bytes()
}

// floatsOf returns numbers as a section that can be read again.
func floatsOf(x ...float32) Section { return bytes.NewReader(hostmem.Bytes(x)) }

func decoded(b []byte) (*File, error) {
	return decode(bytes.NewReader(b), int64(len(b)), "f.ckpt")
}

func TestRoundTrip(t *testing.T) {
	full := sample(7)
	bare := &File{Weights: floatsOf(1)}
	noWeights := &File{Identity: "x"}
	for name, c := range map[string]*File{"full": full, "bare": bare, "no weights": noWeights} {
		b := encoded(t, c)
		got, err := decoded(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !equal(got, c) {
			t.Errorf("%s: differs after a round trip", name)
		}
		if !bytes.Equal(encoded(t, got), b) {
			t.Errorf("%s: the bytes differ when written again", name)
		}
	}
}

// The format stays what it was: files of earlier versions of the program are read, and theirs by them.
func TestFormatStays(t *testing.T) {
	const want = "79595881be44b089c0fbe1d235b9a1da59ca254ec8d26625e1a295a178726c4c"
	if got := fmt.Sprintf("%x", sha256.Sum256(encoded(t, sample(7)))); got != want {
		t.Errorf("a file of the same content has the hash %s, want %s", got, want)
	}
}

// ofSize is a section that says a size of its own.
type ofSize struct {
	io.Reader
	size int64
}

func (s ofSize) Size() int64 { return s.size }

func TestSaveRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]*File{
		"moments of another length": {Weights: floatsOf(1, 2), M: floatsOf(1)},
		"negative epoch":            {Epoch: -1},
		"scores that are no JSON":   {Best: []byte(`{"Val":NaN}`)},
		"long name":                 {Sections: map[string]Section{strings.Repeat("n", 254): nil}},
		"short section":             {Sections: map[string]Section{"s": ofSize{strings.NewReader("abc"), 4}}},
		"long section":              {Sections: map[string]Section{"s": ofSize{strings.NewReader("abc"), 2}}},
	} {
		if err := Save(dir, c, 1); err == nil {
			t.Errorf("%s: was saved", name)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("left behind: %v", files)
	}
}

// full is a disk without room, and a section that cannot be read.
type full struct{}

var errFull = errors.New("no room")

func (full) Write([]byte) (int, error) { return 0, errFull }
func (full) Read([]byte) (int, error)  { return 0, errFull }

// One verb and the cause: where the disk is full, it does not matter at which section.
func TestSaveSays(t *testing.T) {
	large := fileOf(7, 20_000)
	if err := encode(full{}, large); err != errFull {
		t.Errorf("a full disk: %v", err)
	}
	dir := t.TempDir()
	want := "save checkpoint " + filepath.Join(dir, fileName(0)) + ": section x/s: no room"
	if err := Save(dir, &File{Sections: map[string]Section{"s": ofSize{full{}, 2}}}, 1); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	below := filepath.Join(dir, "gone", "checkpoint")
	if err := Save(below, large, 1); err == nil || !strings.HasPrefix(err.Error(), "save checkpoint in "+below+": ") || strings.Contains(err.Error(), "mkdir") {
		t.Errorf("no folder: %v", err)
	}
}

// removing is a section whose reader removes a folder.
type removing string

func (r removing) Read(p []byte) (int, error) {
	if err := os.RemoveAll(string(r)); err != nil {
		return 0, err
	}
	return min(2, len(p)), io.EOF
}

// The folder is removed during a save: one line says so. Its file alone is: the same.
func TestSaveSaysWhatWasRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoint")
	path := "save checkpoint " + filepath.Join(dir, fileName(0)) + ": "
	err := Save(dir, &File{Sections: map[string]Section{"s": ofSize{removing(dir), 2}}}, 1)
	if want := path + "its folder was removed during the save: train again, or resume from another checkpoint"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	err = atomicfile.Write(filepath.Join(dir, "a"), func(io.Writer) error {
		names, err := filepath.Glob(filepath.Join(dir, "a*"))
		for _, name := range names {
			err = errors.Join(err, os.Remove(name))
		}
		return err
	})
	if want := "write " + filepath.Join(dir, "a") + ": it was removed while it was written"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestTruncated cuts a file at every section border, one byte around it, and inside the contents: each cut is
// a typed error.
func TestTruncated(t *testing.T) {
	b := encoded(t, sample(7))
	spans, err := walk(bytes.NewReader(b), int64(len(b)), func(off int64, f string, a ...any) error { return fmt.Errorf(f, a...) })
	if err != nil {
		t.Fatal(err)
	}
	if len(spans) != 12 {
		t.Errorf("%d sections, want 12", len(spans))
	}
	cuts := []int64{0, 1, 7, 8, 11, 12, 15, 16, 17, int64(len(b)) - 1, int64(len(b)) - sha256.Size}
	for _, s := range spans {
		head := s.off - int64(len(s.name)) - 10
		cuts = append(cuts, head-1, head, head+1, head+2, s.off-8, s.off-1, s.off, s.off+1, s.off+s.size/2,
			s.off+s.size-1, s.off+s.size, s.off+s.size+1)
	}
	for _, n := range cuts {
		if n < 0 || n >= int64(len(b)) {
			continue
		}
		var damaged *FormatError
		if _, err := decoded(b[:n]); !errors.As(err, &damaged) {
			t.Errorf("cut to %d of %d bytes: %v", n, len(b), err)
		}
	}
}

// TestFlipped changes one bit of every byte of a small file, and appends bytes.
func TestFlipped(t *testing.T) {
	small := fileOf(7, 3)
	b := encoded(t, small)
	for i := range b {
		c := slices.Clone(b)
		c[i] ^= 1 << (i % 8)
		var damaged *FormatError
		if _, err := decoded(c); !errors.As(err, &damaged) {
			t.Fatalf("byte %d of %d changed: %v", i, len(b), err)
		}
	}
	for _, more := range []int{1, 32} {
		if _, err := decoded(append(slices.Clone(b), make([]byte, more)...)); err == nil {
			t.Errorf("%d bytes appended: accepted", more)
		}
	}
}

// signed appends the checksum, so that only what is before it can be wrong.
func signed(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(slices.Clone(b), sum[:]...)
}

// TestHostile: a right checksum does not make the content believed.
func TestHostile(t *testing.T) {
	head := func(version, count uint32) []byte {
		b := binary.LittleEndian.AppendUint32([]byte(magic), version)
		return binary.LittleEndian.AppendUint32(b, count)
	}
	add := func(b []byte, name string, length uint64, content string) []byte {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
		b = binary.LittleEndian.AppendUint64(append(b, name...), length)
		return append(b, content...)
	}
	counters := strings.Repeat("\x00", 16)
	good := func(n uint32) []byte {
		return add(add(add(head(1, n), "identity", 1, "i"), "counters", 16, counters), "weights", 4, "abcd")
	}
	cases := []struct {
		name string
		file []byte
		want string
	}{
		{"other magic", signed(append([]byte("CAPGNNCX"), head(1, 0)[8:]...)), "is not a checkpoint"},
		{"newer version", signed(head(2, 0)), "version 2, this program reads 1"},
		{"many sections", signed(head(1, math.MaxUint32)), "ends before section 1 of 4294967295"},
		{"huge section", signed(add(head(1, 1), "weights", 1<<62, "")), "of 4611686018427387904 bytes, 0 are left"},
		{"section of 2^64-1", signed(add(head(1, 1), "weights", math.MaxUint64, "")), "0 are left"},
		{"long name", signed(add(head(1, 1), strings.Repeat("w", 300), 0, "")), "in the head of section 1"},
		{"twice", signed(add(good(4), "weights", 0, "")), "occurs twice"},
		{"unknown", signed(add(good(4), "wights", 0, "")), `section "wights": is unknown`},
		{"missing", signed(add(head(1, 1), "identity", 0, "")), `section "counters" is missing`},
		{"odd floats", signed(add(good(4), "m", 5, "12345")), "not a number of float32"},
		{"other length", signed(add(good(4), "m", 8, "12345678")), "2 elements beside 1 weights"},
		{"short counters", signed(add(head(1, 1), "counters", 1, "1")), "want 16"},
		{"negative epoch", signed(add(head(1, 1), "counters", 16, strings.Repeat("\xff", 16))), "epoch -1"},
		{"broken best", signed(add(good(4), "best", 1, "{")), `section "best"`},
		{"rest", signed(append(good(3), 0)), "1 bytes after the last section"},
	}
	if _, err := decoded(signed(good(3))); err != nil {
		t.Fatalf("the good file: %v", err)
	}
	for _, c := range cases {
		_, err := decoded(c.file)
		var damaged *FormatError
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestSaveKeepsTheNewest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoint")
	for epoch := range 6 {
		if err := Save(dir, sample(epoch*20), 3); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"epoch-00000060.ckpt", "epoch-00000080.ckpt", "epoch-00000100.ckpt"}
	if got := namesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
	// The same epoch again replaces its file; files of later epochs are no longer part of the run.
	if err := Save(dir, sample(80), 0); err != nil {
		t.Fatal(err)
	}
	if got := namesIn(t, dir); !slices.Equal(got, want[:2]) {
		t.Errorf("files %v, want %v", got, want[:2])
	}
	c, skipped, err := LoadLatest(dir)
	if err != nil || len(skipped) != 0 || !equal(c, sample(80)) {
		t.Errorf("latest is not epoch 80: %v, skipped %v", err, skipped)
	}
	c.Close()
}

// TestLoadLatestAfterAKill plays what a SIGKILL can leave: a partial file beside whole ones; and what a failing disk can:
// the newest files cut or changed. The one before is used, and each loss is told.
func TestLoadLatestAfterAKill(t *testing.T) {
	parent := t.TempDir()
	dir, other := filepath.Join(parent, "[ab]"), filepath.Join(parent, "a") // no pattern
	if err := errors.Join(os.Mkdir(other, 0o755), os.WriteFile(filepath.Join(other, "epoch-00000004.ckpt.tmp123"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for epoch := 1; epoch <= 3; epoch++ {
		if err := Save(dir, sample(epoch), 3); err != nil {
			t.Fatal(err)
		}
	}
	next := encoded(t, sample(4))
	partial := filepath.Join(dir, "epoch-00000004.ckpt.tmp123")
	if err := os.WriteFile(partial, next[:len(next)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	load := func(epoch int, damaged ...string) {
		t.Helper()
		c, skipped, err := LoadLatest(dir)
		if err != nil || !equal(c, sample(epoch)) {
			t.Fatalf("did not load epoch %d: %v", epoch, err)
		}
		c.Close()
		if len(skipped) != len(damaged) {
			t.Fatalf("skipped %v, want %v", skipped, damaged)
		}
		for i, name := range damaged {
			if !strings.Contains(skipped[i].Error(), name) {
				t.Errorf("skipped %v, want %s", skipped[i], name)
			}
		}
	}
	load(3)
	if err := os.Truncate(filepath.Join(dir, "epoch-00000003.ckpt"), 1000); err != nil {
		t.Fatal(err)
	}
	load(2, "epoch-00000003.ckpt: byte")
	if err := os.WriteFile(filepath.Join(dir, "epoch-00000009.ckpt"), encoded(t, sample(2)), 0o644); err != nil {
		t.Fatal(err)
	}
	load(2, "epoch-00000009.ckpt: byte 0: holds epoch 2", "epoch-00000003.ckpt")

	// The run goes on from epoch 2: what was damaged or partial goes with the next checkpoint.
	if err := Save(dir, sample(3), 2); err != nil {
		t.Fatal(err)
	}
	want := []string{"epoch-00000002.ckpt", "epoch-00000003.ckpt"}
	if got := namesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
	if got := namesIn(t, other); len(got) != 1 {
		t.Errorf("another folder holds %v", got)
	}
	load(3)

	for _, name := range want {
		if err := os.Truncate(filepath.Join(dir, name), 20); err != nil {
			t.Fatal(err)
		}
	}
	if _, skipped, err := LoadLatest(dir); !errors.Is(err, ErrNone) || len(skipped) != 2 {
		t.Errorf("all damaged: %v, skipped %v", err, skipped)
	}
	if _, _, err := LoadLatest(filepath.Join(dir, "none")); !errors.Is(err, ErrNone) {
		t.Errorf("no folder: %v", err)
	}
}

// A checkpoint goes into a folder of its own: through no link, nor into a parent that is not there.
func TestSaveElsewhere(t *testing.T) {
	dir := t.TempDir()
	link, other := filepath.Join(dir, "link"), filepath.Join(dir, "other")
	if err := errors.Join(os.Mkdir(other, 0o755), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	if err := Save(link, sample(1), 1); err == nil || !strings.Contains(err.Error(), "is a link") || len(namesIn(t, other)) > 0 {
		t.Errorf("a link: %v, and the other folder holds %v", err, namesIn(t, other))
	}
	if err := Save(filepath.Join(dir, "gone", "checkpoint"), sample(1), 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no parent: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	small := fileOf(7, 2)
	whole := encoded(f, small)
	f.Add(whole[:len(whole)-sha256.Size])
	bare := encoded(f, &File{Weights: floatsOf(1)})
	f.Add(bare[:len(bare)-sha256.Size])
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decoded(signed(b))
		if err != nil {
			var damaged *FormatError
			if !errors.As(err, &damaged) {
				t.Errorf("untyped error %v", err)
			}
			return
		}
		again, err := decoded(encoded(t, c))
		if err != nil || !equal(c, again) {
			t.Errorf("accepted, but differs after a round trip: %v", err)
		}
	})
}
