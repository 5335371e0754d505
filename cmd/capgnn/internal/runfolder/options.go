package runfolder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Option is one setting of a training run, on the command line and in config.yaml under the same name and in the
// same syntax, or a flag that says nothing of what a run learns. One named FLAG.KEY is a key of a flag: --FLAG
// VALUE,KEY=VALUE.
type Option struct {
	Name, usage string   // usage has the word for the value between backquotes; a flag without is a switch
	Group       string   // of help
	Everyday    bool     // help says it before it is asked for all
	choices     []string // what the value may be; nil: anything that reads
	examples    []string // of a value that has no choices, for completion
	// field is a pointer to a string, int, uint64, float64, bool, Cadence or WeightDecay, or a textSetting; nil: no
	// setting.
	field    func(*Config) any
	standard string // the default of what is no setting
	FileOnly bool   // no flag: written by a run for its repetition
	alone    bool   // the flag may stand without a value, which means true
	Sampled  bool   // says nothing of full-batch runs, whose files do not have it
}

// Options lists every setting in the order of config.yaml.
var Options = onlySettings(table)

func onlySettings(all []Option) []Option {
	return slices.DeleteFunc(slices.Clone(all), func(o Option) bool { return !o.Setting() })
}

// flag is the flag that the option is, or is a key of; key is "" where it is the flag.
func (o Option) flag() (flag, key string) {
	flag, key, _ = strings.Cut(o.Name, ".")
	return flag, key
}

// Label is how the option of a name is called: --FLAG, or --FLAG KEY.
func Label(name string) string { return "--" + strings.Replace(name, ".", " ", 1) }

// written is how a user writes the option of a name with a value.
func written(name string, value any) string {
	key, on := strings.Contains(name, "."), value == true || value == false
	switch {
	case key && on:
		return Label(name) + "=" + plain(value)
	case key:
		return fmt.Sprintf("%s=%v", Label(name), value)
	case on:
		return Label(name)
	}
	return fmt.Sprintf("%s %v", Label(name), value)
}

// plain writes the value of a key: switches are on or off.
func plain(value any) string {
	switch value {
	case true:
		return SwitchOn
	case false:
		return SwitchOff
	}
	return fmt.Sprint(value)
}

// places says where the options of a table are: by name, and the keys of each flag.
type places struct {
	at   map[string]int
	keys map[string][]int
}

// where is that of the table.
var where = placesIn(table)

func placesIn(all []Option) places {
	p := places{map[string]int{}, map[string][]int{}}
	for i := range all {
		p.at[all[i].Name] = i
		if flag, key := all[i].flag(); key != "" {
			p.keys[flag] = append(p.keys[flag], i)
		}
	}
	return p
}

// keysOf returns the keys of a flag, and the options that they are.
func keysOf(flag string) (keys []string, rows []Option) {
	for _, i := range where.keys[flag] {
		_, key := table[i].flag()
		keys, rows = append(keys, key), append(rows, table[i])
	}
	return keys, rows
}

// rowsOf returns the names of flags, and of their keys.
func rowsOf(flags ...string) []string {
	var names []string
	for _, o := range table {
		if flag, _ := o.flag(); slices.Contains(flags, flag) {
			names = append(names, o.Name)
		}
	}
	return names
}

// optionOf returns the option of a name.
func optionOf(name string) (Option, bool) {
	i, ok := where.at[name]
	if !ok {
		return Option{}, false
	}
	return table[i], true
}

// Set gives the option the value written as text.
func (o Option) Set(c *Config, text string) error {
	var err error
	want := ""
	switch p := o.field(c).(type) {
	case textSetting:
		p.set(text)
	case *Cadence:
		*p, err = parseCadence(text)
		want = "a whole number of epochs, or one of steps such as 500steps"
	case *WeightDecay:
		if *p, err = parseWeightDecay(text); err != nil {
			return fmt.Errorf("%s: %w", o.Name, err)
		}
	case *string:
		*p = text
	case *int:
		*p, err = strconv.Atoi(text)
		want = "a whole number"
	case *uint64:
		*p, err = strconv.ParseUint(text, 10, 64)
		want = "a whole number from 0 to 2^64-1"
	case *float64:
		*p, err = strconv.ParseFloat(text, 64)
		want = "a number"
	case *bool:
		if _, key := o.flag(); key == "" {
			*p, err = strconv.ParseBool(text)
			want = "true or false"
		} else if *p = text == SwitchOn || text == "true"; !*p && text != SwitchOff && text != "false" {
			err, want = strconv.ErrSyntax, "on or off"
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %q is not %s", strings.TrimPrefix(Label(o.Name), "--"), text, want)
	}
	return nil
}

// set gives a flag, and the keys that are said, the value written as text. It returns the names of the options that
// it has set.
func (c *Config) set(flag Option, text string) (names []string, err error) {
	keys, rows := keysOf(flag.Name)
	if keys == nil {
		return []string{flag.Name}, flag.Set(c, text)
	}
	k, err := parseKeys(text, keys)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag.Name, err)
	}
	if k.said {
		if err := flag.Set(c, k.head); err != nil {
			return nil, err
		}
		names = append(names, flag.Name)
	}
	for _, v := range k.values {
		o := rows[slices.Index(keys, v.key)]
		err := o.Set(c, v.text)
		trial := *c
		if own, rest, more := strings.Cut(v.text, ","); more && (err != nil || !o.reads(c)) &&
			o.Set(&trial, own) == nil && o.reads(&trial) {
			return nil, fmt.Errorf("%s: %s stands behind %s=: the value comes before its keys, as in --%s %s,%s=%s",
				flag.Name, rest, v.key, flag.Name, rest, v.key, own)
		}
		if err != nil {
			return nil, err
		}
		names = append(names, o.Name)
	}
	return names, nil
}

// reads reports whether the option's value is one that it may have, as far as its text says.
func (o Option) reads(c *Config) bool {
	if t, ok := o.field(c).(textSetting); ok {
		return t.wrong() == nil
	}
	return o.choices == nil || slices.Contains(o.choices, o.Value(c).(string))
}

// Set gives an option a value that reads: a flag with its keys, or one key. It is for settings that the program makes
// itself: anything else panics.
func (c *Config) Set(name, text string) {
	o, ok := optionOf(name)
	if !ok {
		panic("capgnn: no option " + name)
	}
	if _, err := c.set(o, text); err != nil {
		panic("capgnn: " + err.Error())
	}
}

// Value returns the option's value as a string, int, uint64, float64 or bool.
func (o Option) Value(c *Config) any {
	switch p := o.field(c).(type) {
	case textSetting:
		return p.String()
	case *Cadence:
		return p.value()
	case *WeightDecay:
		return p.value()
	case *string:
		return *p
	case *int:
		return *p
	case *uint64:
		return *p
	case *float64:
		return *p
	case *bool:
		return *p
	}
	panic("capgnn: option " + o.Name + " has a field of an unknown type")
}

// whole returns the value of a flag with those of its keys that say something, as set reads it.
func (o Option) whole(c *Config) any {
	if keys, _ := keysOf(o.Name); keys == nil {
		return o.Value(c)
	}
	return o.items(c, func(o Option) bool { return plain(o.Value(c)) != "" })
}

// items writes the value of a flag and those of its keys, some of them.
func (o Option) items(c *Config, which func(Option) bool) string {
	var items []string
	if which(o) {
		items = append(items, fmt.Sprint(o.Value(c)))
	}
	keys, rows := keysOf(o.Name)
	for i, row := range rows {
		if which(row) {
			items = append(items, keys[i]+"="+plain(row.Value(c)))
		}
	}
	return strings.Join(items, ",")
}

// Says reports whether the option says something of a run: those of sampled training say nothing of a full-batch
// run, whose file does not have them, those that models differ by say nothing of a model that is a file, and the sum of
// a file nothing of a model that has a name.
func (o Option) Says(c *Config) bool {
	if c.ModelFile() {
		return (!o.Sampled || c.Sampled()) && !o.ofModel()
	}
	return (!o.Sampled || c.Sampled()) && o.Name != ModelSum
}

// Identity returns what of the option's value decides the bits of a run, as it is written, and whether anything does.
func (o Option) Identity(c *Config) (text string, decides bool) {
	switch {
	case !o.Says(c):
		return "", false
	case o.Name == merged, o.Name == NetOption: // is in checkpoints; is in the plan's key
		return "", false
	case o.Name == streamOption: // changes no bit
		return "", false
	case o.Name == gpuCache && c.Sampled(): // changes no bit there
		return "", false
	case o.Name == "model" && c.custom != nil:
		return c.custom.Program.SHA256(), true
	case o.Name == sampling:
		return c.Sampling.Value.Identity(), true
	}
	if _, key := o.flag(); key != "" {
		return plain(o.Value(c)), true
	}
	return fmt.Sprint(o.Value(c)), true
}

// KeyOf returns the values of some options for the key of a plan.
func KeyOf(c *Config, names []string) []any {
	var out []any
	for _, o := range Options {
		if slices.Contains(names, o.Name) {
			out = append(out, o.Value(c))
		}
	}
	return out
}

// valueOf returns the value of an option.
func (c *Config) valueOf(name string) any {
	o, _ := optionOf(name)
	return o.Value(c)
}

// checkChoices looks at the options that are one of a few. "" stands in config.yaml for a default that has no name
// of its own, as models differ in it.
func (c *Config) checkChoices(p *problems) {
	defaults := Default()
	for _, o := range Options {
		if o.choices == nil || !o.Says(c) {
			continue
		}
		if v := o.Value(c).(string); v != "" || o.Value(&defaults) != "" {
			p.oneOf(o.Name, v, o.choices...)
		}
	}
}
