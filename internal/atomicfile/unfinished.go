package atomicfile

import (
	"os"
	"sync"
)

// unfinished are the temporary files and folders of this process, and others that go with it, each with what removes
// it. They are of the process, as what ends it is: a signal.
var unfinished = struct {
	sync.Mutex
	names map[string]func()
	some  bool // one was finished
}{names: map[string]func(){}}

// Unfinished makes a file or folder that is to go with the process if that ends before finished is called.
func Unfinished(create func() (name string, err error)) (name string, finished func(), err error) {
	unfinished.Lock()
	defer unfinished.Unlock()
	if name, err = create(); err == nil {
		unfinished.names[name] = func() { _ = os.RemoveAll(name) } // what stays goes with the next Sweep
	}
	return name, func() {
		unfinished.Lock()
		defer unfinished.Unlock()
		delete(unfinished.names, name)
		unfinished.some = true
	}, err
}

// Kept has remove called if the process ends at once before gone is called. name tells what is kept from all else.
func Kept(name string, remove func()) (gone func()) {
	unfinished.Lock()
	defer unfinished.Unlock()
	unfinished.names[name] = remove
	return func() {
		unfinished.Lock()
		defer unfinished.Unlock()
		delete(unfinished.names, name)
	}
}

// Abandon removes what is unfinished, for a process that ends at once, and reports whether this process finished anything before. Who
// begins or finishes something after it waits for that end.
func Abandon() (finished bool) {
	unfinished.Lock()
	for _, remove := range unfinished.names {
		remove()
	}
	return unfinished.some
}
