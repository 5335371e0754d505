package arch

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The default program opens no library at run time, so that without cgo it stays static; with the tag mpi it does. Neither links the
// type of tensors that is for Go callers (docs/adr/0022), which brings 7 MB.
func TestLinked(t *testing.T) {
	const opens, tensors = "github.com/ebitengine/purego", "gorgonia.org/tensor"
	for tags, want := range map[string]bool{"": false, "mpi": true} {
		cmd := exec.Command("go", "list", "-deps", "-tags", tags, "./cmd/capgnn")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOWORK=off")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(strings.Fields(string(out)), opens); got != want {
			t.Errorf("tags %q: that the program depends on %s is %v, want %v", tags, opens, got, want)
		}
		if slices.Contains(strings.Fields(string(out)), tensors) {
			t.Errorf("tags %q: the program depends on %s", tags, tensors)
		}
	}
}
