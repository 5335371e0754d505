package textfile

import "bytes"

// maxLine bounds the bytes of a line that Line returns.
const maxLine = 1 << 10

// Line reads up to the end of the line and returns what stood there, without what is beyond maxLine. The line's end is read next.
func (t *Reader) Line() string {
	var line []byte
	for {
		t.peek() // fills the buffer
		i := bytes.IndexByte(t.buf[t.pos:t.end], '\n')
		if i < 0 {
			i = t.end - t.pos
		}
		line = append(line, t.buf[t.pos:t.pos+min(i, maxLine-len(line))]...)
		if t.pos += i; t.pos < t.end || t.err != nil {
			return string(line)
		}
	}
}
