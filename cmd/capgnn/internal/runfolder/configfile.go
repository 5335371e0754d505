package runfolder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/regular"
)

const (
	// maxConfigBytes bounds a config file; the ones written here have about 1 KiB. The parser's memory grows with the square
	// of some texts: 64 KiB of brackets take 6 GiB.
	maxConfigBytes = 32 << 10
	// maxConfigNesting bounds the lists and mappings in it, which no option takes. Names of files may hold brackets.
	maxConfigNesting = 256
)

// ReadConfig applies a config file on top of cfg: a mapping from option names to plain values. Keys that are missing or
// null keep what cfg has.
func ReadConfig(path string, cfg *Config) error {
	err := readConfig(path, cfg, ParseConfig)
	if beside := Dir(filepath.Dir(path)).Model(); err == nil && cfg.ModelFile() {
		if !term.Exists(beside) {
			beside = cfg.Model
		}
		err = cfg.readModel(beside)
	}
	return err
}

// ReadConfig reads the settings of the run in a folder, whose file has a key for each of them.
func (d Dir) ReadConfig(cfg *Config) error {
	if err := readConfig(d.Config(), cfg, parseWhole); err != nil {
		return err
	}
	return d.readModel(cfg)
}

func readConfig(path string, cfg *Config, parse func([]byte, *Config) error) error {
	f, err := regular.Open(path)
	if err != nil {
		return term.Usagef("read config: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	switch {
	case err != nil:
		return term.Usagef("read config: %w", err)
	case len(data) > maxConfigBytes:
		return term.Usagef("read config %s: larger than %d bytes: not a config file", path, maxConfigBytes)
	}
	if err := parse(data, cfg); err != nil {
		return term.Usagef("read config %s: %w", path, err)
	}
	return nil
}

// ParseConfig is ReadConfig for the content of a file.
func ParseConfig(data []byte, cfg *Config) error {
	_, err := parseConfig(data, cfg)
	return err
}

// parseWhole is ParseConfig for a file that has to say everything of a run.
func parseWhole(data []byte, cfg *Config) error {
	said, err := parseConfig(data, cfg)
	if err != nil {
		return err
	}
	var p problems
	if cfg.checkChoices(&p); p != nil {
		return p[0]
	}
	for _, o := range Options {
		flag, key := o.flag()
		if !o.Says(cfg) || said[o.Name] || key != "" && o.Value(cfg) == "" {
			continue
		}
		lacks := "no key " + flag
		if key != "" {
			whole, _ := optionOf(flag)
			lacks = fmt.Sprintf("%s: no %s=, as in %v", flag, key, whole.whole(cfg))
		}
		return fmt.Errorf("%s: a run's file says everything: write it again, or start a new run with --config", lacks)
	}
	return nil
}

// parseConfig is ParseConfig; it returns the names of the options that the file gives.
func parseConfig(data []byte, cfg *Config) (said map[string]bool, err error) {
	nested := bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{")) + bytes.Count(data, []byte("- "))
	if len(data) > maxConfigBytes || nested > maxConfigNesting {
		return nil, fmt.Errorf("%d bytes with %d lists and mappings: not a config file", len(data), nested)
	}
	var entries, more map[string]any
	d := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), yaml.Strict())
	for _, document := range []*map[string]any{&entries, &more} {
		if err := d.Decode(document); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: write each setting on a line of its own, as in epochs: 200", yaml.FormatError(err, false, false))
		}
	}
	if len(more) > 0 {
		return nil, errors.New("there is a second document behind ---: put all keys into one")
	}
	said = map[string]bool{}
	for _, o := range Options {
		value, ok := entries[o.Name]
		if _, key := o.flag(); key != "" || !ok {
			continue
		}
		delete(entries, o.Name)
		if value == nil {
			continue
		}
		text, err := scalarText(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Name, err)
		}
		names, err := cfg.set(o, text)
		if err != nil {
			return nil, err
		}
		for _, name := range append(names, o.Name) {
			said[name] = true
		}
	}
	if len(entries) > 0 {
		unknown := slices.Sorted(maps.Keys(entries))
		return nil, fmt.Errorf("no option %s: the keys are the names of the flags of `capgnn train --help`", term.Quoted(unknown[0], fileKeys()))
	}
	if said[planKey] {
		cfg.checkRecordedParts()
	}
	return said, nil
}

// scalarText returns a YAML scalar in the syntax of the flags.
func scalarText(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case bool, int, int64, uint64:
		return fmt.Sprint(v), nil
	}
	return "", errors.New("is not a plain value")
}

// FormatConfig returns the content of a config file that says everything about cfg.
func FormatConfig(cfg *Config) ([]byte, error) {
	var entries yaml.MapSlice
	for _, o := range Options {
		if _, key := o.flag(); key == "" && o.Says(cfg) {
			value := o.whole(cfg)
			if o.Name == planKey && cfg.PlanKey != "" {
				value = cfg.PlanKey + "-" + cfg.partSum()
			}
			entries = append(entries, yaml.MapItem{Key: o.Name, Value: value})
		}
	}
	body, err := yaml.Marshal(entries)
	if err != nil {
		return nil, fmt.Errorf("format config: %w", err)
	}
	var b strings.Builder
	b.WriteString("# everything that decides this run; repeat it with `capgnn train --config` and this file\n")
	b.Write(body)
	return []byte(b.String()), nil
}
