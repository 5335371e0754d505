package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
)

// transfer downloads the files of one folder of a server into part/download, with notes on each beside it.
type transfer struct {
	client *http.Client
	base   string
	part   string
	opt    Options

	sizes         map[string]int64 // of each file; 0: not known
	before, total int64            // bytes of the files before this one; of all, 0: not known
}

// state is what the server said of a file that has begun to come.
type state struct {
	URL      string `json:"url"`
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	Bytes    int64  `json:"bytes"` // of the whole file; 0: it did not say
}

// validator is what If-Range is to hold; "" if the server gave nothing that tells two contents apart for sure.
func (s state) validator() string {
	if s.ETag != "" && !strings.HasPrefix(s.ETag, "W/") {
		return s.ETag
	}
	return s.Modified
}

// all downloads and checks the files and returns the folder in which they, and nothing else, lie.
func (t *transfer) all(ctx context.Context, files []remoteFile) (string, error) {
	dir := filepath.Join(t.part, "download")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, f := range files {
		t.learn(f, f.bytes)
	}
	for _, f := range files {
		if err := t.one(ctx, f); err != nil {
			return "", err
		}
		t.before += t.have(f)
	}
	return dir, nil
}

// learn notes the size of a file, 0 if it is not known.
func (t *transfer) learn(f remoteFile, bytes int64) {
	t.sizes[f.name] = bytes
	t.total = 0
	for _, n := range t.sizes {
		if n == 0 {
			t.total = 0
			return
		}
		t.total += n
	}
}

func (t *transfer) path(f remoteFile) string      { return filepath.Join(t.part, "download", f.name) }
func (t *transfer) statePath(f remoteFile) string { return filepath.Join(t.part, f.name+".json") }

// errStale says that the bytes that are there are of no use to the server, and that they were removed.
var errStale = errors.New("the server has another file now")

// one downloads and checks one file, over as many connections as it takes.
func (t *transfer) one(ctx context.Context, f remoteFile) error {
	from := strings.TrimSuffix(t.base, "/") + "/" + f.name
	// A connection that gained less than this was of no use: a server that gives a byte each time is not followed for ever.
	const gain = 1 << 20
	best, failures := t.have(f), 0
	resumed := best > 0
	for {
		err := t.attempt(ctx, f, from)
		var broken *brokenError
		switch {
		case err == nil:
			if err = checkFile(t.path(f), from, f); err == nil || !resumed {
				return err
			}
			t.opt.Note(fmt.Sprintf("%v; starting again", err)) // what lay there may be to blame
			resumed, best = false, 0
			if err := os.Remove(t.path(f)); err != nil {
				return err
			}
			continue
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errStale): // happens once, as nothing is there now
			t.opt.Note(fmt.Sprintf("%s: %v; starting again", from, err))
			continue
		case !errors.As(err, &broken):
			return err
		}
		if now := t.have(f); now >= best+gain {
			best, failures = now, 0
		}
		if failures++; failures > t.opt.Retries {
			return err
		}
		wait := min(t.opt.Backoff<<min(failures-1, 4), 16*t.opt.Backoff)
		t.opt.Note(fmt.Sprintf("%v; trying again in %v", err, wait))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// have returns how many bytes of a file are there.
func (t *transfer) have(f remoteFile) int64 {
	info, err := os.Lstat(t.path(f))
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// brokenError is a fault that may pass.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// attempt gets what is missing of a file over one connection.
func (t *transfer) attempt(ctx context.Context, f remoteFile, from string) error {
	have, old := t.resumable(f, from)
	if have > 0 && have == max(f.bytes, old.Bytes) {
		t.learn(f, have)
		t.opt.Progress(t.before+have, t.total)
		return nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	resp, err := t.ask(ctx, from, have, old)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	first, now, err := accept(resp, have, old, from)
	if err != nil {
		return err
	}
	if err := f.suits(now.Bytes, from); err != nil {
		return err
	}
	if first <= 0 {
		// Before the new state is written, so that it never stands beside old bytes.
		if err := os.Remove(t.path(f)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	switch {
	case first < 0:
		return errStale
	case first > 0:
		t.opt.Note(fmt.Sprintf("%s: going on after %d bytes", f.name, first))
	case have > 0:
		t.opt.Note(fmt.Sprintf("%s: the server starts from the beginning", f.name))
	}
	if err := t.remember(f, now); err != nil {
		return err
	}
	t.learn(f, max(f.bytes, now.Bytes))
	watch := time.AfterFunc(t.opt.Stall, func() { stop(fmt.Errorf("%s: nothing came for %v", from, t.opt.Stall)) })
	defer watch.Stop()
	n, err := t.receive(ctx, f, from, resp.Body, first, watch)
	switch {
	case err != nil:
		return err
	case n < now.Bytes:
		return &brokenError{fmt.Errorf("%s: the connection ended after %d of %d bytes", from, n, now.Bytes)}
	case now.Bytes == 0:
		now.Bytes = n
		t.learn(f, n)
		return t.remember(f, now)
	}
	return nil
}

// ask requests a file from byte have on.
func (t *transfer) ask(ctx context.Context, from string, have int64, old state) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // the bytes as they are published, not as the transport would inflate them
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		if v := old.validator(); v != "" {
			req.Header.Set("If-Range", v)
		}
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, passing(err)
	}
	return resp, nil
}

// suits refuses a size that the file cannot have; 0 is not known.
func (f remoteFile) suits(bytes int64, from string) error {
	switch {
	case bytes <= 0:
	case f.bytes > 0 && bytes != f.bytes:
		return fmt.Errorf("%s: %w: %d bytes, want %d", from, errNotPublished, bytes, f.bytes)
	case f.bytes == 0 && bytes > f.limit:
		return fmt.Errorf("%s: %w: %d bytes, want at most %d", from, errNotPublished, bytes, f.limit)
	}
	return nil
}

// resumable returns how many bytes of a file are there to go on from, and what the server said of it. Bytes of another
// address, or that can neither be checked later nor be told from newer ones, are none.
func (t *transfer) resumable(f remoteFile, from string) (int64, state) {
	have := t.have(f)
	var s state
	text, err := readState(t.statePath(f))
	if have == 0 || err != nil || json.Unmarshal(text, &s) != nil {
		return 0, state{}
	}
	checked := f.sha256 != "" || f.blob != ""
	whole := max(f.bytes, s.Bytes)
	if !checked && (s.URL != from || s.validator() == "" && s.Bytes <= 0) || whole > 0 && have > whole {
		return 0, state{}
	}
	if s.URL != from {
		s = state{} // the same published bytes from another place
	}
	return have, s
}

// readState reads the file of a state, which has 1 KiB.
func readState(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<16))
}

func (t *transfer) remember(f remoteFile, s state) error {
	return atomicfile.Write(t.statePath(f), func(w io.Writer) error { return json.NewEncoder(w).Encode(s) })
}

// receive appends the body to the first have bytes of a file, and returns its size.
func (t *transfer) receive(ctx context.Context, f remoteFile, from string, body io.Reader, have int64, watch *time.Timer) (n int64, err error) {
	flag := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if have == 0 {
		flag |= os.O_TRUNC
	}
	out, err := t.opt.create(t.path(f), flag, 0o644)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err == nil {
			err = out.Sync()
		}
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	limit := f.limit
	if f.bytes > 0 {
		limit = f.bytes
	}
	buf := make([]byte, 128<<10)
	for n = have; ; {
		m, rerr := body.Read(buf)
		watch.Reset(t.opt.Stall)
		if n+int64(m) > limit {
			return n, fmt.Errorf("%s: %w: %d bytes or more, want at most %d", from, errNotPublished, limit+1, limit)
		}
		if _, err := out.Write(buf[:m]); err != nil {
			return n, err
		}
		n += int64(m)
		t.opt.Progress(t.before+n, t.total)
		switch {
		case rerr == io.EOF:
			return n, nil
		case ctx.Err() != nil:
			return n, &brokenError{context.Cause(ctx)}
		case rerr != nil:
			return n, &brokenError{fmt.Errorf("%s: %w after %d bytes", from, rerr, n)}
		}
	}
}

// defaultClient gives up on a server that is not there, and does not leave an encrypted connection for a plain one.
func defaultClient(proxy func(*http.Request) (*url.URL, error)) *http.Client {
	const wait = 5 * time.Second
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 proxy,
			DialContext:           (&net.Dialer{Timeout: wait}).DialContext,
			TLSHandshakeTimeout:   wait,
			ResponseHeaderTimeout: 6 * wait,
			ForceAttemptHTTP2:     true,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) >= 10 {
				return errors.New("more than 10 redirections")
			}
			if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
				return fmt.Errorf("is redirected to %s, which is not encrypted", req.URL.Host)
			}
			return nil
		},
	}
}
