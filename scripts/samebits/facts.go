package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"capgnn/internal/regular"
)

// facts are what came of a case, by name: the output and exit code of its commands, the files in its folder.
type facts map[string]string

// Tables show times and memory in use, which are blurred to #; pages are drawn from times, so all their numbers are.
var (
	measures = regexp.MustCompile(`[0-9.]+[ \x{a0}](ns|µs|ms|s|[KMG]iB)\b`)
	numbers  = regexp.MustCompile(`[0-9][0-9.]*(e-[0-9]+)?([ \x{a0}](ns|µs|ms|s)\b)?`)
)

// run executes the case in a new folder, which it removes.
func (c testCase) run(bin, folder, data string) (facts, error) {
	out := facts{}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	for i, line := range c.commands {
		name := strings.TrimPrefix(fmt.Sprintf("%d ", i+1), "1 ")
		line, stopped := strings.CutPrefix(line, interrupted)
		if stopped {
			name = "stopped "
		}
		cmd := exec.Command(filepath.Join(bin, c.program), words(line)...)
		cmd.Dir = folder
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder + "/home", "XDG_CACHE_HOME=" + folder + "/cache",
			"XDG_DATA_HOME=" + folder + "/share", "CAPGNN_DATA=" + data}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		if stopped {
			go interrupt(cmd.Process, filepath.Join(folder, "run", "metrics.jsonl"))
		}
		cmd.Wait() // its error is the exit code
		out[name+"exit code"] = strconv.Itoa(cmd.ProcessState.ExitCode())
		if stopped { // the rest says in which epoch, which time decides
			continue
		}
		out[name+"stderr"] = stderr.String()
		if !out.addJSON(name+"stdout ", stdout.Bytes()) {
			out[name+"stdout"] = measures.ReplaceAllString(stdout.String(), "#")
		}
	}
	if err := out.addFiles(folder); err != nil {
		return nil, err
	}
	return out, os.RemoveAll(folder)
}

// words splits a command; a pair of quotes is an empty word.
func words(command string) []string {
	out := strings.Fields(command)
	for i, w := range out {
		if w == "''" {
			out[i] = ""
		}
	}
	return out
}

// interrupt interrupts the process as soon as there is something in the file, or gives up after a minute.
func interrupt(p *os.Process, file string) {
	for range 60_000 {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			p.Signal(os.Interrupt)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// addFiles takes all files below the folder: each value of JSON and of flat YAML, other texts, else a hash.
func (f facts) addFiles(folder string) error {
	return filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := regular.ReadFile(path, 1<<30)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(folder, path)
		if head, _, found := strings.Cut(name, ".tfevents"); found {
			name = head + ".tfevents" // time, machine and process follow
		}
		switch ext := filepath.Ext(name); {
		case (ext == ".json" || ext == ".jsonl") && f.addJSON(name+" ", data):
		case ext == ".html":
			f[name] = numbers.ReplaceAllString(string(data), "#")
		case ext == ".yaml":
			for line := range strings.Lines(string(data)) {
				key, value, _ := strings.Cut(line, ":")
				f[name+" "+key] = value
			}
		case ext == ".csv" || ext == ".md":
			f[name] = string(data)
		default:
			f[name] = fmt.Sprintf("%d bytes, sha256 %x", len(data), sha256.Sum256(data))
		}
		return nil
	})
}

// addJSON takes every value of one object or of several, each under its path, behind the first object with a number. It reports
// whether data were objects.
func (f facts) addJSON(name string, data []byte) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // numbers as they are written
	i := 0
	for ; d.More(); i++ {
		var v map[string]any
		if d.Decode(&v) != nil {
			return false
		}
		if i == 0 {
			f.addValue(name, v)
		} else {
			f.addValue(name+strconv.Itoa(i)+".", v)
		}
	}
	return i > 0
}

// addValue takes a value; path ends with a blank or a dot.
func (f facts) addValue(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			f.addValue(path+key+".", x)
		}
	case []any:
		for i, x := range v {
			f.addValue(path+strconv.Itoa(i)+".", x)
		}
	default:
		f[strings.TrimSuffix(path, ".")] = fmt.Sprint(v)
	}
}
