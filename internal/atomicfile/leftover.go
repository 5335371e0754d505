package atomicfile

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// foreign is how long what another host left is not touched: its locks may not reach here.
const foreign = 24 * time.Hour

// ours matches the names of temporary files and folders; the group is the host.
var ours = regexp.MustCompile(`.\.tmp-([0-9a-f]{8})-[0-9]+$`)

// host stands for this machine's name.
var host = sync.OnceValue(func() string {
	name, err := os.Hostname()
	if err != nil {
		name = "" // all that have none share it: their locks are what tells them apart
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return fmt.Sprintf("%08x", h.Sum32())
})

// mark stands between the name of a file and the number of a temporary one.
func mark() string { return ".tmp-" + host() + "-" }

// Sweep removes what killed writers left in a folder: what bears a name of this package and is held by no process.
func Sweep(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		name := ours.FindStringSubmatch(e.Name())
		if name == nil || !e.Type().IsRegular() && !e.IsDir() {
			continue
		}
		if name[1] == host() || old(e) {
			removeAbandoned(filepath.Join(dir, e.Name()))
		}
	}
}

func old(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) > foreign
}
