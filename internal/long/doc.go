// Package long says whether tests run all of their matrices. For tests only.
//
// Without it a test takes a small part of its cases that keeps every rule, so that `go test ./...` of a fresh clone takes minutes.
// CI asks for all.
package long

import "os"

// Wanted says that CAPGNN_LONG is 1.
func Wanted() bool { return os.Getenv("CAPGNN_LONG") == "1" }
