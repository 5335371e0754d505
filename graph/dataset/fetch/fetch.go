package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Options says where from and how. The zero value is usable.
type Options struct {
	BaseURL string       // folder of the files; "" = the one the set was published in
	Client  *http.Client // nil: one that gives up after 5 s without a connection, 30 s without an answer
	// Proxy chooses the proxy of the default client, as http.ProxyFromEnvironment does; nil: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Retries is how often in a row a broken connection is tried again with nothing gained; 0: never.
	Retries int
	Backoff time.Duration // wait before the first of them, doubled for each of the others; 0 = 0.5 s
	Stall   time.Duration // a connection that gives nothing for so long is broken; 0 = 30 s
	// Progress is called after each piece, with bytes done and bytes in all (0: not known), from the goroutine that called
	// Download. done begins with what an earlier call has left, and goes back where that turns out to be useless.
	Progress func(done, total int64)
	Note     func(text string) // called with what goes on, such as a connection that broke; nil: not

	create func(name string, flag int, perm os.FileMode) (sink, error) // os.OpenFile where nil; tests break it
}

// sink is a file that is written.
type sink interface {
	io.WriteCloser
	Sync() error
}

// errNotPublished marks bytes that are not the published ones: getting more of them is of no use.
var errNotPublished = errors.New("is not the published file")

// Download gets the data set of this name, one of Known, into a new folder of root and returns its path, root/NAME.
// If the folder is there already, nothing is downloaded. ctx bounds the whole download.
//
// Method: files go to root/NAME.part, where they are checked by size and checksum as far as these are known, and archives
// unpacked; then the folder is renamed, so that root/NAME is complete or not there. After a broken connection, a full disk
// or the end of ctx, root/NAME.part stays, and the next call goes on where this one ended; of wrong bytes nothing stays.
func Download(ctx context.Context, name, root string, opt Options) (path string, err error) {
	set, err := Find(name)
	if err != nil {
		return "", fmt.Errorf("fetch: %w", err)
	}
	if !set.Fetchable() {
		return "", fmt.Errorf("fetch %s: its publishers offer it by hand only: %s", name, set.ByHand(root))
	}
	return download(ctx, set, root, opt)
}

func download(ctx context.Context, set Published, root string, opt Options) (path string, err error) {
	path = filepath.Join(root, set.Name)
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	}
	part := path + ".part"
	defer func() {
		if err != nil {
			path, err = "", fmt.Errorf("fetch %s: %w", set.Name, explain(err, set, path))
		}
	}()
	if err := os.MkdirAll(part, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFolder(part)
	if err == nil {
		defer func() {
			tidy(part, err)
			unlock()
		}()
	}
	if _, err := os.Lstat(path); err == nil {
		return path, nil // another process was faster
	}
	if err != nil {
		return "", err
	}
	done, err := complete(ctx, set, part, opt)
	if err != nil {
		return "", err
	}
	return path, os.Rename(done, path)
}

// complete downloads a data set into part and returns the folder in it that holds all of the set and nothing else.
func complete(ctx context.Context, set Published, part string, opt Options) (string, error) {
	opt.defaults()
	t := &transfer{client: opt.Client, base: set.base, part: part, opt: opt, sizes: map[string]int64{}}
	if t.client == nil {
		t.client = defaultClient(opt.Proxy)
		defer t.client.CloseIdleConnections()
	}
	if opt.BaseURL != "" {
		t.base = opt.BaseURL
	}
	dir, err := t.all(ctx, set.files)
	if err != nil || set.unpack.limit == 0 {
		return dir, err
	}
	archive := set.files[0].name
	opt.Note("unpacking " + archive)
	return unpack(ctx, filepath.Join(dir, archive), filepath.Join(part, "unpacked"), set.unpack, opt.create)
}

func (o *Options) defaults() {
	if o.Backoff == 0 {
		o.Backoff = 500 * time.Millisecond
	}
	if o.Stall == 0 {
		o.Stall = 30 * time.Second
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	if o.create == nil {
		o.create = func(name string, flag int, perm os.FileMode) (sink, error) { return os.OpenFile(name, flag, perm) }
	}
}

// tidy removes what a fetch leaves in part, unless a later one can go on from there: it has downloaded something, and that
// is not known to be wrong.
func tidy(part string, err error) {
	if err == nil || errors.Is(err, errNotPublished) {
		os.RemoveAll(part)
		return
	}
	keep := false
	_ = filepath.WalkDir(part, func(path string, e fs.DirEntry, werr error) error {
		if werr == nil && e.Type().IsRegular() && filepath.Dir(path) != part {
			if info, err := e.Info(); err == nil && info.Size() > 0 {
				keep = true
			}
		}
		return nil
	})
	if !keep {
		os.RemoveAll(part)
	}
}

// explain says what to do about an error that ended the download of a set to path.
func explain(err error, set Published, path string) error {
	var (
		status *statusError
		broken *brokenError
	)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w; free some space and fetch again to continue, or remove %s.part", err, path)
	case errors.Is(err, errNotPublished):
		return fmt.Errorf("%w; name another mirror with --url, or see what has changed: %s", err, set.Source)
	case errors.Is(err, errWebPage), errors.As(err, &status):
		return fmt.Errorf("%w; if it has moved, name its new folder with --url; it is from %s", err, set.Source)
	case errors.As(err, &broken):
		return fmt.Errorf("%w; fetch again later to continue, or name a mirror with --url", err)
	}
	return err
}
