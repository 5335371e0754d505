package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Check makes no file while the process ends, as Abandon has it: nobody would remove it.
func TestCheckWhileEnding(t *testing.T) {
	dir := t.TempDir()
	checked := make(chan error, 1)
	unfinished.Lock() // and what Abandon does not do here: the process goes on
	go func() { checked <- Check(filepath.Join(dir, "page.html")) }()
	select {
	case err := <-checked:
		t.Errorf("it made a file and removed it (%v)", err)
	case <-time.After(50 * time.Millisecond):
	}
	unfinished.Unlock()
	if err := <-checked; err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("it left %v (%v)", list, err)
	}
}
