package hostmem

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// Free returns the memory in bytes that this process may still use without swapping, and the memory it may use in all:
// the machine's, or less where a control group (a container) sets a limit. Caches that the kernel can drop count as free.
// On systems without such numbers the error is errors.ErrUnsupported.
func Free() (free, total int64, err error) {
	r, err := systemRoom()
	r.threads()
	return r.free, r.total, err
}

// PeakRSS returns the largest resident size this process has had, in bytes. Mapped files count as far as they were read.
func PeakRSS() (int64, error) { return systemPeak() }

// Anonymous returns the resident memory of this process that belongs to no file, in bytes; 0 if the system does not
// say.
func Anonymous() int64 { return systemAnonymous() }

// linuxRoom reads /proc/meminfo and the limits of the process's control groups (version 1 and 2) under root.
func linuxRoom(root fs.FS) (room, error) {
	info, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return room{}, fmt.Errorf("read free memory: %w", err)
	}
	total, okTotal := field(info, "MemTotal:")
	free, okFree := field(info, "MemAvailable:")
	if !okFree { // kernels before 3.14
		idle, ok := field(info, "MemFree:")
		cached, _ := field(info, "Cached:")
		free, okFree = idle+cached, ok
	}
	if !okTotal || !okFree {
		return room{}, fmt.Errorf("read free memory: /proc/meminfo has no MemTotal or MemAvailable")
	}
	r := room{free: free, total: total}
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return r, nil
	}
	for line := range strings.Lines(string(groups)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		switch {
		case part[0] == "0" && part[1] == "":
			r.lower(root, "sys/fs/cgroup", part[2], groupV2)
		case hasController(part[1], "memory"):
			r.lower(root, "sys/fs/cgroup/memory", part[2], groupV1)
		}
	}
	return r, nil
}

const addressSpace = "ulimit -v"

// threads keeps what threads that are yet to begin reserve of the address space.
func (r *room) threads() {
	if r.space == addressSpace {
		n := int64(max(2, runtime.GOMAXPROCS(0)+idleThreads-systemThreads()) * ofThread)
		r.free, r.used = max(0, r.free-n), r.used+n
	}
}

// idleThreads are those beside GOMAXPROCS: of the runtime, and those that wait for files.
const idleThreads = 6

// within lowers r to what a limit of the process leaves, of which used bytes are taken.
func (r *room) within(limit, used int64, by string) {
	if left := max(0, limit-used); left < r.free {
		r.free, r.total, r.group, r.space, r.used = left, limit, "", by, used
	}
}

// groupFiles names the files of one version of control groups.
type groupFiles struct {
	limit, usage string
	cache        [2]string // pages of files, which the kernel drops or writes back where memory is short
}

var (
	groupV2 = groupFiles{"memory.max", "memory.current", [2]string{"inactive_file", "active_file"}}
	groupV1 = groupFiles{"memory.limit_in_bytes", "memory.usage_in_bytes", [2]string{"total_inactive_file", "total_active_file"}}
)

// lower lowers r to what the group at dir and every group above it leave. Inside a container the path may be the host's
// and absent; the mount itself is then the container's group.
func (r *room) lower(root fs.FS, mount, dir string, names groupFiles) {
	for dir = path.Clean("/" + dir); ; dir = path.Dir(dir) {
		at := path.Join(mount, dir)
		limit, ok := number(root, path.Join(at, names.limit))
		if ok && limit < r.total {
			r.total = limit
		}
		usage, okUsage := number(root, path.Join(at, names.usage))
		// Cache only adds to what is left: where enough is without it, the long file of statistics stays unread.
		if ok && okUsage && limit-usage < r.free {
			stat, _ := fs.ReadFile(root, path.Join(at, "memory.stat"))
			for _, key := range names.cache {
				cache, _ := field(stat, key)
				usage = max(0, usage-cache)
			}
			if left := max(0, limit-usage); left < r.free {
				r.free, r.group, r.groupLimit = left, "/"+path.Join(at, names.limit), limit
			}
		}
		if dir == "/" {
			return
		}
	}
}

func hasController(list, name string) bool {
	for c := range strings.SplitSeq(list, ",") {
		if c == name {
			return true
		}
	}
	return false
}

// number reads a file that holds one whole number; "max" means none.
func number(root fs.FS, name string) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	return n, err == nil && n >= 0
}

// field finds "key value" or "key value kB" at the start of a line and returns the value in bytes.
func field(text []byte, key string) (int64, bool) {
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, key) {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != key {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if len(f) > 2 && f[2] == "kB" {
			if n > math.MaxInt64>>10 {
				return 0, false
			}
			n <<= 10
		}
		return n, err == nil && n >= 0
	}
	return 0, false
}
