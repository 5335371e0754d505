package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"time"
)

func main() {
	var s session
	flag.StringVar(&s.old, "old", "", "folder of the old builds")
	flag.StringVar(&s.new, "new", "", "folder of the new builds")
	flag.StringVar(&s.work, "work", "", "empty folder to work in")
	intended := flag.String("intended", "", "file of intended differences")
	flag.Parse()
	differ, err := s.compare(*intended)
	if err != nil {
		fmt.Fprintf(os.Stderr, "same-bits: %v\n", err)
		os.Exit(2)
	}
	if differ {
		os.Exit(1)
	}
}

// session is where the two programs are and where they run.
type session struct{ old, new, work string }

// compare runs everything with both programs and prints what differs.
func (s *session) compare(intended string) (differ bool, err error) {
	rules, err := readRules(intended)
	if err != nil {
		return false, err
	}
	names, err := s.commandNames()
	if err != nil {
		return false, err
	}
	if err := s.makeData(); err != nil {
		return false, err
	}
	all := cases(names)
	was, err := s.runAll(s.old, all)
	if err != nil {
		return false, err
	}
	is, err := s.runAll(s.new, all)
	if err != nil {
		return false, err
	}
	d := &comparison{out: os.Stdout, leftOut: leftOut, intended: rules}
	for i, c := range all {
		d.compare(c, was[i], is[i])
	}
	return d.end(len(all)), nil
}

// makeData makes the data sets of the cases with the old program.
func (s *session) makeData() error {
	data := filepath.Join(s.work, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	for _, line := range []string{"synth flickr-like --scale 0.002 --out flickr", "import ./flickr --features random:19 --out tiny",
		"synth yelp-like --scale 0.001 --out yelp", "synth corafull-like --scale 0.01 --out corafull"} {
		cmd := exec.Command(filepath.Join(s.old, "capgnn"), append([]string{"data"}, words(line+" --quiet")...)...)
		cmd.Dir = data
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("capgnn data %s: %w: %s", line, err, out)
		}
	}
	defer time.Sleep(3 * time.Second) // until capgnn remembers checksums of files, by their age
	return os.WriteFile(filepath.Join(data, "junk.npz"), []byte("PK\x03\x04 no zip"), 0o644)
}

// runAll runs the cases with the programs in bin, one at a time on each core.
func (s *session) runAll(bin string, all []testCase) ([]facts, error) {
	out, errs := make([]facts, len(all)), make([]error, len(all))
	next := make(chan int)
	var group sync.WaitGroup
	for range runtime.NumCPU() {
		group.Go(func() {
			for i := range next {
				out[i], errs[i] = all[i].run(bin, filepath.Join(s.work, "runs", fmt.Sprint(i)), filepath.Join(s.work, "data"))
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	group.Wait()
	return out, errors.Join(errs...)
}

// commandHeading is that of a command on the manual page.
var commandHeading = regexp.MustCompile(`(?m)^\.SH "capgnn ([a-z0-9 -]+)"$`)

// commandNames returns the commands on the manual page that the new program prints, and the program itself.
func (s *session) commandNames() ([]string, error) {
	page, err := exec.Command(filepath.Join(s.new, "capgnn"), "man").Output()
	if err != nil {
		return nil, fmt.Errorf("capgnn man: %w", err)
	}
	out := []string{""}
	for _, m := range commandHeading.FindAllSubmatch(page, -1) {
		out = append(out, string(m[1]))
	}
	if len(out) < 20 {
		return nil, fmt.Errorf("capgnn man describes %q only", out)
	}
	return out, nil
}
