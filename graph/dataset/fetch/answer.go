package fetch

import (
	"crypto/sha1" // git's ids
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"capgnn/internal/regular"
)

// accept reads the head of an answer: after how many bytes its body goes on, which is 0 where it is the whole file, and -1
// where the bytes that are there are to be thrown away and asked for again; and what the server says of the file.
func accept(resp *http.Response, have int64, old state, from string) (int64, state, error) {
	if kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); resp.StatusCode < 300 && strings.TrimSpace(kind) == "text/html" {
		return 0, state{}, fmt.Errorf("%s: %w", from, errWebPage)
	}
	now := state{URL: from, ETag: resp.Header.Get("ETag"), Modified: resp.Header.Get("Last-Modified")}
	switch resp.StatusCode {
	case http.StatusOK:
		now.Bytes = max(0, resp.ContentLength)
		return 0, now, nil
	case http.StatusPartialContent:
		if have == 0 {
			return 0, now, fmt.Errorf("%s: the server sent a part instead of the whole file", from)
		}
		first, whole, ok := contentRange(resp.Header.Get("Content-Range"))
		if !ok || first != have || old.Bytes > 0 && whole > 0 && whole != old.Bytes ||
			old.ETag != "" && now.ETag != "" && now.ETag != old.ETag {
			return -1, now, nil
		}
		if now.Bytes = whole; whole == 0 {
			now.Bytes = old.Bytes
		}
		return have, now, nil
	case http.StatusRequestedRangeNotSatisfiable:
		if have > 0 {
			return -1, now, nil
		}
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 0, now, &brokenError{fmt.Errorf("%s: %s", from, resp.Status)}
	}
	return 0, now, &statusError{from, resp.Status}
}

// errWebPage is a page for people, such as one that asks to log in.
var errWebPage = errors.New("the server sent a web page instead of the file")

// statusError is an answer that the server will give again, such as that the file is not there.
type statusError struct{ from, status string }

func (e *statusError) Error() string { return e.from + ": " + e.status }

// contentRange reads "bytes FIRST-LAST/WHOLE", where WHOLE may be * (0 here).
func contentRange(text string) (first, whole int64, ok bool) {
	text, ok = strings.CutPrefix(text, "bytes ")
	span, size, ok2 := strings.Cut(text, "/")
	a, b, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, false
	}
	first, err1 := strconv.ParseInt(a, 10, 64)
	last, err2 := strconv.ParseInt(b, 10, 64)
	if size != "*" {
		var err error
		if whole, err = strconv.ParseInt(size, 10, 64); err != nil || last >= whole {
			return 0, 0, false
		}
	}
	return first, whole, err1 == nil && err2 == nil && first >= 0 && last >= first
}

// passing marks a fault of a request that may pass: that the network was not there or broke. What the program or the
// server will say again is returned as it is.
func passing(err error) error {
	var (
		dns *net.DNSError
		op  *net.OpError
		out net.Error
	)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return err
	case errors.As(err, &op), errors.As(err, &out) && out.Timeout(), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &brokenError{err}
	}
	return err
}

// checkFile compares a file with what is known of it.
func checkFile(path, from string, want remoteFile) error {
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	n := info.Size()
	var (
		sum        hash.Hash
		kind, must string
	)
	switch {
	case want.sha256 != "":
		sum, kind, must = sha256.New(), "SHA-256", want.sha256
	case want.blob != "":
		sum, kind, must = sha1.New(), "git id", want.blob
		fmt.Fprintf(sum, "blob %d\x00", n)
	default:
		return want.suits(n, from)
	}
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	got := hex.EncodeToString(sum.Sum(nil))
	if want.bytes > 0 && n != want.bytes {
		return fmt.Errorf("%s: %w: %d bytes, want %d", from, errNotPublished, n, want.bytes)
	}
	if got != must {
		return fmt.Errorf("%s: %w: its %d bytes have %s %.12s…, want %.12s…", from, errNotPublished, n, kind, got, must)
	}
	return nil
}
