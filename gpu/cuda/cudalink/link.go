//go:build cuda

package cudalink

/*
#cgo LDFLAGS: -L${SRCDIR}/stub -ldl
#include <stdlib.h>
int capgnn_cudalink_open(const char *library);
const char *capgnn_cudalink_why(void);
const char *capgnn_cudalink_path(void);
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

var loading sync.Mutex

// Error says why there is no driver.
type Error struct {
	Library string
	Code    int // the driver's answer to cuInit; 100 (no device) where the library could not be loaded
	Why     string
}

func (e *Error) Error() string { return fmt.Sprintf("load %s: %s", e.Library, e.Why) }

// Open loads the first of the libraries that can be loaded and initialises it; at least one is named, as a path or a name for the
// dynamic loader. path is the file that was loaded. A driver stays loaded: after the first success further calls return its path and do
// nothing. The error is an *Error, of the first library if none can be loaded.
func Open(libraries ...string) (path string, err error) {
	loading.Lock()
	defer loading.Unlock()
	for _, library := range libraries {
		name := C.CString(library)
		code := C.capgnn_cudalink_open(name)
		C.free(unsafe.Pointer(name))
		if code == 0 {
			return C.GoString(C.capgnn_cudalink_path()), nil
		}
		missing := code == noFile
		if missing {
			code = noDevice
		}
		if err == nil || !missing {
			err = &Error{Library: library, Code: int(code), Why: C.GoString(C.capgnn_cudalink_why())}
		}
		if !missing {
			break
		}
	}
	return "", err
}

const (
	noFile   = -1  // link.c's
	noDevice = 100 // CUDA_ERROR_NO_DEVICE
)
