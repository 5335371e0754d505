package profiler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"capgnn/internal/regular"
)

// Notes save measurements as they are made, so that an interrupted measurement continues where it stopped: a file
// with a line for each, appended in one write. A line that cannot be read, such as half a line, is ignored. The zero
// Notes keep nothing after the process. They belong to one goroutine.
type Notes struct {
	made  map[string]entry
	spent float64 // seconds that all of them took
	path  string
	file  *os.File
	fault error // the first one in writing
}

// entry is one line.
type entry struct {
	What    string   `json:"what"` // operation, size and devices
	Timings []Timing `json:"timings"`
	Took    float64  `json:"took_s"` // to prepare and to measure
}

// OpenNotes reads the notes at path, if there are any, and appends to them.
func OpenNotes(path string) (*Notes, error) {
	old, err := regular.ReadFile(path, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read measurements: %w", err)
	}
	n := &Notes{path: path}
	for line := range bytes.Lines(old) {
		var e entry
		if json.Unmarshal(line, &e) == nil && e.sound() {
			n.add(e)
		}
	}
	if n.file, err = regular.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644); err != nil {
		return nil, fmt.Errorf("keep measurements: %w", err)
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		n.write([]byte("\n"))
	}
	return n, nil
}

// Len returns the number of measurements that are kept.
func (n *Notes) Len() int { return len(n.made) }

// Close closes the file and returns the first error of writing it.
func (n *Notes) Close() error {
	if n.file == nil {
		return nil
	}
	err := errors.Join(n.fault, n.file.Close())
	n.file = nil
	return err
}

// Remove removes the file: its measurements are part of a profile now. Another process may have removed it.
func (n *Notes) Remove() error {
	if err := os.Remove(n.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove measurements: %w", err)
	}
	return nil
}

func (e *entry) sound() bool {
	if e.What == "" || len(e.Timings) == 0 || !(e.Took >= 0 && e.Took <= maxSeconds) {
		return false
	}
	for i := range e.Timings {
		if e.Timings[i].validate() != nil {
			return false
		}
	}
	return true
}

func (n *Notes) add(e entry) {
	if n.made == nil {
		n.made = map[string]entry{}
	}
	n.made[e.What] = e
	n.spent += e.Took
}

// get returns the timings of what was measured, nil if it was not.
func (n *Notes) get(what string) []Timing { return n.made[what].Timings }

// put keeps a measurement. That it cannot be written is no reason to lose it: Close says so.
func (n *Notes) put(e entry) {
	n.add(e)
	if n.file == nil {
		return
	}
	line, err := json.Marshal(e)
	if err != nil {
		n.fault = errors.Join(n.fault, err)
		return
	}
	n.write(append(line, '\n'))
}

func (n *Notes) write(line []byte) {
	if _, err := n.file.Write(line); err != nil && n.fault == nil {
		n.fault = err
	}
}
