//go:build cuda

package cudalink

/*
#cgo LDFLAGS: -L${SRCDIR}/stub -ldl
#include <stdlib.h>
int capgnn_cudalink_open(const char *library);
const char *capgnn_cudalink_why(void);
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

// Library is the driver's name for the dynamic loader.
const Library = "libcuda.so.1"

var loading sync.Mutex

// Error says why there is no driver.
type Error struct {
	Library string
	Code    int // the driver's answer to cuInit; 100 (no device) where the library could not be loaded
	Why     string
}

func (e *Error) Error() string { return fmt.Sprintf("load %s: %s", e.Library, e.Why) }

// Open loads the driver and initialises it. library is a path or a name for the dynamic loader, "" is Library. A driver stays
// loaded: after the first success further calls do nothing. The error is an *Error.
func Open(library string) error {
	if library == "" {
		library = Library
	}
	loading.Lock()
	defer loading.Unlock()
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	if code := C.capgnn_cudalink_open(name); code != 0 {
		return &Error{Library: library, Code: int(code), Why: C.GoString(C.capgnn_cudalink_why())}
	}
	return nil
}
