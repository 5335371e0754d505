package tfevents

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
)

// Scalar is one value of a curve. Tags that begin alike up to a slash are shown in one group.
type Scalar struct {
	Tag   string // a name in valid UTF-8
	Value float64
}

// Writer is an open event file.
type Writer struct {
	f   *os.File
	buf []byte // of one record, used again
}

// prefix is how the names of event files begin; a time in seconds follows, by which they sort.
const prefix = "events.out.tfevents."

// Create makes the event file of a run that starts, or goes on, at firstStep ≥ 0, in dir, which exists. The errors of this
// and the other methods name the file.
func Create(dir string, now time.Time, firstStep int64) (*Writer, error) {
	earlier, err := newest(dir)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	name := filepath.Join(dir, fmt.Sprintf("%s%010d.%s.%d", prefix, max(now.Unix(), earlier+1), host, os.Getpid()))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Stays(name); err != nil {
		f.Close()
		os.Remove(name)
		return nil, err
	}
	w := &Writer{f: f}
	err = w.write(appendEvent(nil, now, 0, eventFileVersion, []byte(fileVersion)))
	if err == nil {
		err = w.write(appendEvent(nil, now, firstStep, eventSessionLog, appendStart(nil)))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return w, nil
}

// newest returns the largest time in the names of the event files of a folder, -1 without any.
func newest(dir string) (int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	last := int64(-1)
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok {
			continue
		}
		stamp, _, _ := strings.Cut(rest, ".")
		// Names that another program chose need not hold a time; more than ten digits would not sort.
		if t, err := strconv.ParseInt(stamp, 10, 64); err == nil && len(stamp) == 10 {
			last = max(last, t)
		}
	}
	return last, nil
}

// Scalars writes one event with all values of a step ≥ 0.
func (w *Writer) Scalars(now time.Time, step int64, values []Scalar) error {
	var summary []byte
	for _, s := range values {
		summary = appendScalar(summary, s)
	}
	return w.write(appendEvent(nil, now, step, eventSummary, summary))
}

// Lost returns the path of the file if that is not its name any more, "" if it is.
func (w *Writer) Lost() string {
	if regular.LeadsTo(w.f.Name(), w.f) {
		return ""
	}
	return w.f.Name()
}

// Again writes a file that has lost its name again, with all that it held.
func (w *Writer) Again() error {
	path := w.f.Name()
	err := atomicfile.Write(path, func(to io.Writer) error {
		_, err := io.Copy(to, io.NewSectionReader(w.f, 0, math.MaxInt64))
		return err
	})
	if err != nil {
		return err
	}
	f, err := regular.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	old := w.f
	w.f = f
	return old.Close()
}

func (w *Writer) write(event []byte) error {
	w.buf = appendRecord(w.buf[:0], event)
	_, err := w.f.Write(w.buf)
	return err
}

// Close closes the file.
func (w *Writer) Close() error { return w.f.Close() }
