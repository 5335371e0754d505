//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"capgnn/gpu"
)

// Error is the driver's refusal of a call.
type Error struct {
	Call string // the driver's name of the call
	Code int    // CUresult
	Name string // as CUDA_ERROR_INVALID_VALUE; "" if the driver does not know the code
	Text string // the driver's explanation
}

func (e *Error) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s: driver error %d", e.Call, e.Code)
	}
	return fmt.Sprintf("%s: %s (%s, %d)", e.Call, e.Text, e.Name, e.Code)
}

// Codes of CUresult that are decided on.
const (
	codeOutOfMemory   = 2
	codeNoDevice      = 100
	codePeerEnabled   = 704
	codeInvalidDevice = 101
)

// lost are the codes after which the driver refuses every further call on the GPU: what the documentation of CUresult calls
// an inconsistent state of the process, errors of the hardware, and a driver that is shutting down.
var lost = []int{
	4,        // deinitialized
	46,       // device unavailable
	214, 220, // uncorrectable ECC, NVLink
	700, 702, 709, 710, 714, 715, 716, 717, 718, 719, // address, timeout, context, assert, stack, instruction, alignment, space, program counter, launch
	721, 999, // contained, unknown
}

// Is says of an error that ends the device that it is gpu.ErrDeviceLost.
func (e *Error) Is(target error) bool {
	return target == gpu.ErrDeviceLost && slices.Contains(lost, e.Code)
}

func newError(call string, code int) *Error {
	name, text := explain(code)
	return &Error{Call: call, Code: code, Name: name, Text: text}
}

// named turns an error of gorgonia.org/cu, whose type is an integer that it does not export, into an *Error.
func named(call string, err error) error {
	if err == nil {
		return nil
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return newError(call, int(v.Int()))
	}
	return fmt.Errorf("%s: %w", call, err)
}

// coded reports whether err is the driver's refusal with this code.
func coded(err error, code int) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
