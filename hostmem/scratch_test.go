package hostmem

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// Scratch memory is zero, can be written, and leaves no file in its folder, neither while it is there nor behind it.
func TestScratch(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "file": t.TempDir()} {
		for _, size := range []int64{0, 1, 5000, 1 << 20} {
			s, err := NewScratch("test", "table", dir, size)
			if err != nil {
				t.Fatal(name, err)
			}
			b := s.Bytes()
			if int64(len(b)) != size {
				t.Fatalf("%s: %d bytes, want %d", name, len(b), size)
			}
			for i := range b {
				if b[i] != 0 {
					t.Fatalf("%s: byte %d is %d", name, i, b[i])
				}
				b[i] = byte(i)
			}
			if dir != "" {
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("%v, %v in the folder", left, err)
				}
			}
			if err := errors.Join(s.Close(), s.Close()); err != nil || s.Bytes() != nil {
				t.Errorf("%s: %v, %d bytes behind Close", name, err, len(s.Bytes()))
			}
		}
	}
}

// Memory and disks without room are an error that says for what, and leave nothing behind.
func TestScratchTooLarge(t *testing.T) {
	var limit *Limit
	if _, err := NewScratch("test", "table", "", 1<<45); !errors.As(err, &limit) || limit.Name != "table" || limit.Need != 1<<45 {
		t.Error(err)
	}
	if _, err := NewScratch("test", "table", "", 1<<62); !errors.As(err, &limit) {
		t.Error(err)
	}
	dir := t.TempDir()
	_, err := NewScratch("test", "table", dir, 1<<45)
	if err == nil || !strings.Contains(err.Error(), `test: "table" needs a file of 35184372088832 bytes in `+dir) || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v in the folder", left, err)
	}
	if _, err := NewScratch("test", "table", dir+"/none", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
