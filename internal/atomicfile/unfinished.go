package atomicfile

import (
	"os"
	"sync"
)

// unfinished are the temporary files and folders of this process. They are of the process, as what ends it is: a signal.
var unfinished = struct {
	sync.Mutex
	names map[string]bool
	some  bool // one was finished
}{names: map[string]bool{}}

// Unfinished makes a file or folder that is to go with the process if that ends before finished is called.
func Unfinished(create func() (name string, err error)) (name string, finished func(), err error) {
	unfinished.Lock()
	defer unfinished.Unlock()
	if name, err = create(); err == nil {
		unfinished.names[name] = true
	}
	return name, func() {
		unfinished.Lock()
		defer unfinished.Unlock()
		delete(unfinished.names, name)
		unfinished.some = true
	}, err
}

// Abandon removes what is unfinished, for a process that ends at once, and reports whether this process finished anything before. Who
// begins or finishes something after it waits for that end.
func Abandon() (finished bool) {
	unfinished.Lock()
	for name := range unfinished.names {
		_ = os.RemoveAll(name) // what stays goes with the next Sweep
	}
	return unfinished.some
}
