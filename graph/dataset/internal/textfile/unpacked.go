package textfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"

	"capgnn/internal/npy"
)

const (
	// freeText bytes of text may come out of any gzip file, and textRatio times its size beyond that. Edge lists and
	// features of published data sets inflate 2 to 10 times; a file of one repeated line inflates 1,000 times.
	freeText  = 16 << 20
	textRatio = 256
)

// Unpacked returns the text of a file, whose size bytes r reads: what is packed in it if its first bytes say gzip, bounded by
// freeText and textRatio, else r.
func Unpacked(file string, r io.Reader, size int64) (io.Reader, error) {
	raw := bufio.NewReaderSize(r, 1<<16)
	if head, _ := raw.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return raw, nil
	}
	z, err := gzip.NewReader(raw)
	if err != nil {
		return nil, &npy.FormatError{File: file, Offset: 0, Err: fmt.Errorf("is not a complete gzip file: %w", Truncated(err))}
	}
	return &inflating{r: z, size: size, left: freeText + textRatio*size}, nil
}

// inflating is text that comes out of a gzip file of size bytes, of which left may still come.
type inflating struct {
	r          io.Reader
	size, left int64
}

func (z *inflating) Read(p []byte) (int, error) {
	n, err := z.r.Read(p)
	if z.left -= int64(n); z.left < 0 {
		return 0, fmt.Errorf("%d bytes inflate to more than %d, which no data set does; unpack the file first", z.size, freeText+textRatio*z.size)
	}
	return n, err
}

// Truncated names the end of the file within compressed data.
func Truncated(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file ends here: truncated")
	}
	return err
}

// WatchBytes is about what lies between two calls of a watch.
const WatchBytes = 1 << 20
