//go:build !unix

package regular

import "io/fs"

const withoutWaiting, withoutLinks = 0, 0

func names(fs.FileInfo) uint64 { return 1 }
