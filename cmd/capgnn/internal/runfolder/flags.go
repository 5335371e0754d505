package runfolder

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/term"
)

// Flags returns the flags of train. Values are read through Option.Set, so flags and config.yaml have one syntax.
func Flags() []cli.Flag { return FlagsOf(FlagNames(func(Option) bool { return true })...) }

// FlagNames lists flags of train.
func FlagNames(which func(Option) bool) (names []string) {
	for _, o := range table {
		if _, key := o.flag(); key == "" && !o.FileOnly && which(o) {
			names = append(names, o.Name)
		}
	}
	return names
}

// Setting reports whether an option is a setting, which config.yaml has.
func (o Option) Setting() bool { return o.field != nil }

// FlagsOf returns the flags of these names.
func FlagsOf(names ...string) []cli.Flag {
	defaults := sync.OnceValue(Default)
	var flags []cli.Flag
	for _, name := range names {
		o, _ := optionOf(name)
		keys, usage := o.help(defaults)
		text := o.standardText(defaults)
		switch {
		case keys || o.alone:
			flags = append(flags, &cli.GenericFlag{Name: o.Name, Category: o.Group, Usage: usage, DefaultText: text,
				Value: &texts{alone: o.alone}})
		case strings.Contains(usage, "`"):
			flags = append(flags, &cli.StringFlag{Name: o.Name, Category: o.Group, Usage: usage, DefaultText: text})
		default:
			flags = append(flags, &cli.BoolFlag{Name: o.Name, Category: o.Group, Usage: usage})
		}
	}
	return flags
}

// standardText is the default of an option.
func (o Option) standardText(defaults func() Config) string {
	if !o.Setting() {
		return o.standard
	}
	c := defaults()
	return plain(o.Value(&c))
}

// help returns the usage of a flag, behind it a line for each key: KEY=WORD, a tab, and what it means. keys says
// whether there are any.
func (o Option) help(defaults func() Config) (keys bool, usage string) {
	names, rows := keysOf(o.Name)
	usage = o.usage
	for i, row := range rows {
		before, rest, valued := strings.Cut(row.usage, "`")
		word, behind, _ := strings.Cut(rest, "`")
		if !valued {
			word = strings.Join(switches, "|")
			usage += fmt.Sprintf("\n%s=%s\t%s", names[i], word, before)
		} else {
			usage += fmt.Sprintf("\n%s=%s\t%s%s%s", names[i], word, before, word, behind)
		}
		if text := row.standardText(defaults); text != "" {
			usage += " (default: " + text + ")"
		}
	}
	return rows != nil, usage
}

// Everyday reports whether help says the option of a name before it is asked for all.
func Everyday(name string) bool {
	o, ok := optionOf(name)
	return ok && o.Everyday
}

// Choices returns what the value of a flag may be, or examples of it; nil: anything.
func Choices(flag string) []string {
	o, _ := optionOf(flag)
	if o.choices != nil {
		return o.choices
	}
	return o.examples
}

// ApplyFlags sets every option that was given on the command line. It returns the names of those given.
func ApplyFlags(c *cli.Context, cfg *Config) ([]string, error) {
	var given []string
	for _, name := range FlagNames(Option.Setting) {
		if !c.IsSet(name) {
			continue
		}
		o, _ := optionOf(name)
		for _, text := range textsOf(c, name) {
			names, err := cfg.set(o, text)
			if err != nil {
				return nil, term.Usagef("%s: --%w", c.Command.Name, err)
			}
			given = append(given, names...)
		}
	}
	cfg.ownPartitioner(!slices.Contains(given, isolated) || slices.Contains(given, "partitioner"))
	return given, nil
}

// Said returns what the command line says of a flag that is no setting: its value by "", and those of its keys,
// each else its default.
func Said(c *cli.Context, flag string) (map[string]string, error) {
	o, _ := optionOf(flag)
	keys, rows := keysOf(flag)
	said := map[string]string{"": o.standard}
	for i, row := range rows {
		said[keys[i]] = row.standard
	}
	if !c.IsSet(flag) {
		return said, nil
	}
	for _, text := range textsOf(c, flag) {
		k, err := parseKeys(text, keys)
		if err != nil {
			return nil, term.Usagef("--%s: %w", flag, err)
		}
		if k.said {
			said[""] = k.head
		}
		for _, v := range k.values {
			said[v.key] = v.text
		}
	}
	var p problems
	if o.choices != nil && !p.oneOf(flag, said[""], o.choices...) {
		return nil, term.Usagef("%w", p[0])
	}
	return said, nil
}

// Gives reports whether the command line gives a key of a flag, or, for "", its value.
func Gives(c *cli.Context, flag, key string) bool {
	keys, _ := keysOf(flag)
	return c.IsSet(flag) && slices.ContainsFunc(textsOf(c, flag), func(text string) bool {
		k, _ := parseKeys(text, keys)
		return key == "" && k.said || slices.ContainsFunc(k.values, func(v keyValue) bool { return v.key == key })
	})
}

// Empty reports whether the command line gives a flag an empty value, or a key of it, which is " KEY=".
func Empty(c *cli.Context, flag string) (key string, empty bool) {
	if !c.IsSet(flag) {
		return "", false
	}
	_, keyed := c.Value(flag).([]string)
	for _, text := range textsOf(c, flag) {
		if text == "" {
			return "", true
		}
		if keys, _ := keysOf(flag); keyed && keys != nil {
			k, _ := parseKeys(text, keys)
			for _, v := range k.values {
				if v.text == "" {
					return " " + v.key + "=", true
				}
			}
			if k.said && k.head == "" {
				return "", true
			}
		}
	}
	return "", false
}

// textsOf returns every value that the command line gives a flag; of each key the last one holds.
func textsOf(c *cli.Context, flag string) []string {
	switch t := c.Value(flag).(type) {
	case []string:
		return t
	case cli.StringSlice:
		return t.Value()
	}
	return []string{fmt.Sprint(c.Value(flag))}
}

// texts is the value of a flag that may be given several times, or, if alone, without a value, which means true.
type texts struct {
	all   []string
	alone bool
}

// Set implements cli.Generic.
func (t *texts) Set(text string) error {
	t.all = append(t.all, text)
	return nil
}

// String implements cli.Generic.
func (t *texts) String() string { return strings.Join(t.all, ",") }

// IsBoolFlag has the flag stand alone.
func (t *texts) IsBoolFlag() bool { return t.alone }

// Get implements flag.Getter.
func (t *texts) Get() any { return t.all }

// fileKeys lists the keys of config.yaml.
func fileKeys() []string {
	var out []string
	for _, o := range Options {
		if _, key := o.flag(); key == "" {
			out = append(out, o.Name)
		}
	}
	return out
}
