package diskcache

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/atomicfile"
	"capgnn/pipeline"
)

// cacheLimit is the environment variable that bounds the disk space of prepared pieces: an amount, 0 = none are kept.
const cacheLimit = "CAPGNN_CACHE_LIMIT"

const (
	// defaultCacheLimit holds some ten runs on a graph of a hundred million edges.
	defaultCacheLimit = 16 << 30
	// leastCached is what is worth a file, in bytes: less is made again in some hundredths of a second.
	leastCached = 4 << 20
	// leastDisk stays free on the disk whatever the limit says, in bytes.
	leastDisk = 1 << 30
	// staleAfter is the age from which an unfinished file is one that nobody is writing.
	staleAfter = 24 * time.Hour
	// cachePrefix and cacheSuffix enclose the key in the names of the files.
	cachePrefix, cacheSuffix = "prepared-", ".bin"
)

// Cache keeps what runs prepare, in files of its folder; the one that was used longest ago goes first when the limit is
// reached. It implements pipeline.Prepared. What cannot be read or kept is noted, and made again.
type Cache struct {
	dir     string
	program string // that prepares: another one may sum in another order
	limit   int64  // bytes of all files
	least   int64  // bytes of a file that is worth keeping
	note    func(format string, a ...any)
}

var _ pipeline.Prepared = (*Cache)(nil)

// Open returns the cache; nil if there is no folder for it, or no room is given to it.
func Open(k *term.Console) (*Cache, error) {
	limit := int64(defaultCacheLimit)
	switch text := os.Getenv(cacheLimit); text {
	case "":
	case "0":
		return nil, nil
	default:
		amount, err := term.ParseBytes(text)
		if err != nil {
			return nil, term.Usagef("%s: %q %w, and not 0", cacheLimit, text, err)
		}
		limit = int64(amount)
	}
	dir, err := term.CacheFolder()
	if err != nil || !hostmem.LittleEndian() {
		return nil, nil
	}
	return &Cache{dir: dir, program: fmt.Sprintf("%+v", term.ReadBuildInfo()), limit: limit, least: leastCached, note: k.Note}, nil
}

// place returns the file of an entry, and its key with the program in it.
func (c *Cache) place(key string) (path, full string) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s", c.program, key))
	full = hex.EncodeToString(sum[:])
	return filepath.Join(c.dir, cachePrefix+full[:32]+cacheSuffix), full
}

// Get implements pipeline.Prepared.
func (c *Cache) Get(key string) pipeline.Kept {
	path, key := c.place(key)
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	f, err := openCacheFile(path, key, info.Size())
	if err != nil {
		c.note("note: %s is not used and made again: %v", path, err)
		return nil
	}
	now := time.Now()
	// Only the order in which files go depends on it.
	_ = os.Chtimes(path, now, now)
	return f
}

// Put implements pipeline.Prepared.
func (c *Cache) Put(key, what string, pieces []pipeline.Piece) {
	size := cacheSize(pieces)
	if size < c.least || size > c.limit {
		return
	}
	path, key := c.place(key)
	if err := c.makeRoom(path, size); err != nil {
		c.note("note: %s (%s) is not kept in %s: %v", what, gigabytes(size), c.dir, err)
		return
	}
	err := atomicfile.Replace(path, func(w io.Writer) error { return encodeCache(w, key, what, pieces) })
	if err != nil {
		c.note("note: %s is not kept: %v", what, err)
		return
	}
	c.note("kept for later runs: %s, %s in %s", what, gigabytes(size), path)
}

// makeRoom removes old files until size bytes more stay within the limit, and checks that the disk has room for them. path
// is to be replaced.
func (c *Cache) makeRoom(path string, size int64) error {
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo // complete ones
	total := size
	for _, e := range list {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(e.Name(), cachePrefix) {
			continue // gone meanwhile, or not ours
		}
		complete := strings.HasSuffix(e.Name(), cacheSuffix)
		if e.Name() == filepath.Base(path) || !complete && time.Since(info.ModTime()) > staleAfter {
			if err := os.Remove(filepath.Join(c.dir, e.Name())); err == nil {
				continue
			}
		}
		total += info.Size()
		if complete {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, f := range files {
		if total <= c.limit {
			break
		}
		if err := os.Remove(filepath.Join(c.dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= f.Size()
	}
	if free, ok := diskFree(c.dir); ok && free < size+leastDisk {
		return errors.New("the disk has only " + gigabytes(free) + " left")
	}
	return nil
}

func gigabytes(n int64) string { return term.Size(gpu.Bytes(n)) }
