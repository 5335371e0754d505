package lockfile

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Holder is who holds a lock, as it has written itself. The zero value is a process that has not said.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Command string    `json:"command"` // its arguments, cut to maxCommand bytes
	Since   time.Time `json:"since"`
}

const (
	maxCommand = 100
	maxHolder  = 4 << 10 // bytes of the file, more than a holder writes
)

// String names the process, on one line and without control characters: the file may be anybody's.
func (h Holder) String() string {
	if h.PID <= 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d on %s (%s, since %s)", h.PID, plain(h.Host), plain(h.Command), h.Since.Local().Format("2006-01-02 15:04:05"))
}

// plain returns s cut to maxCommand bytes, with "?" in place of what does not print.
func plain(s string) string {
	if len(s) > maxCommand {
		s = strings.ToValidUTF8(s[:maxCommand], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}

// self returns this process.
func self() Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	return Holder{PID: os.Getpid(), Host: host, Command: plain(strings.Join(os.Args, " ")), Since: time.Now().Truncate(time.Second)}
}

// read returns who a lock file says holds it.
func read(f *os.File) (h Holder) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, maxHolder))
	if err != nil || json.Unmarshal(data, &h) != nil {
		return Holder{}
	}
	return h
}

// write makes the file say that this process holds it.
func write(f *os.File) error {
	data, err := json.Marshal(self())
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(data, '\n'), 0)
	return err
}
