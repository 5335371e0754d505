package runfolder

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// addOptions adds rows to the table for a test.
func addOptions(t *testing.T, rows ...Option) {
	was := table
	set := func(all []Option) { table, Options, where = all, onlySettings(all), placesIn(all) }
	set(append(slices.Clone(was), rows...))
	t.Cleanup(func() { set(was) })
}

// applied returns what ApplyFlags makes of a command line.
func applied(t *testing.T, args ...string) (given []string, cfg Config, err error) {
	cfg = Default()
	app := &cli.App{Name: "train", Flags: Flags(), Action: func(c *cli.Context) error {
		given, err = ApplyFlags(c, &cfg)
		return nil
	}}
	if err := app.Run(append([]string{"train"}, args...)); err != nil {
		t.Fatal(err)
	}
	return given, cfg, err
}

// An option is a row of the table: that alone makes its flag, its help, its key of config.yaml, its completion, and
// what is refused.
func TestOptionIsOneRow(t *testing.T) {
	colour, shade, matt := "red", 3, false
	addOptions(t,
		Option{Name: "colour", Group: GroupData, choices: []string{"red", "blue"},
			field: func(*Config) any { return &colour }, usage: "`COLOUR` of edges"},
		Option{Name: "colour.shade", field: func(*Config) any { return &shade }, usage: "how dark: a `NUMBER`"},
		Option{Name: "colour.matt", field: func(*Config) any { return &matt }, usage: "without gloss"})
	at := slices.IndexFunc(Flags(), func(f cli.Flag) bool { return f.Names()[0] == "colour" })
	if at < 0 {
		t.Fatal("there is no flag")
	}
	const usage = "`COLOUR` of edges\nshade=NUMBER\thow dark: a NUMBER (default: 3)\n" +
		"matt=on|off\twithout gloss (default: off)"
	if f := Flags()[at].(*cli.GenericFlag); f.Usage != usage || f.DefaultText != "red" || f.Category != GroupData {
		t.Errorf("help: %q, default %q, in %q", f.Usage, f.DefaultText, f.Category)
	}
	if values := Choices("colour"); !slices.Equal(values, []string{"red", "blue"}) {
		t.Errorf("completion: %v", values)
	}
	given, cfg, err := applied(t, "--colour", "blue,shade=5", "--colour", "matt=on,shade=7")
	want := []string{"colour", "colour.shade", "colour.matt", "colour.shade"}
	if err != nil || colour != "blue" || shade != 7 || !matt || !slices.Equal(given, want) {
		t.Errorf("%v, %s, %d, %t, given %v", err, colour, shade, matt, given)
	}
	data, err := FormatConfig(&cfg)
	if err != nil || !strings.Contains(string(data), "\ncolour: blue,shade=7,matt=on\n") {
		t.Fatalf("%v in\n%s", err, data)
	}
	colour, shade, matt = "red", 0, false
	if err := ParseConfig(data, &cfg); err != nil || colour != "blue" || shade != 7 || !matt {
		t.Errorf("config.yaml is read as %s, %d, %t, %v", colour, shade, matt, err)
	}
	cfg.Dataset, colour = "x", "green"
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), `--colour "green" is not one of red, blue`) {
		t.Errorf("a colour that is none: %v", err)
	}
}

// A flag with keys is read item by item: what has no key belongs to the value before it.
func TestKeys(t *testing.T) {
	keys := []string{"layers", "exact", "to-do"}
	for text, want := range map[string]keyed{
		"":                               {said: true},
		"4":                              {head: "4", said: true},
		"15,10,all":                      {head: "15,10,all", said: true},
		"exact=3":                        {values: []keyValue{{"exact", "3"}}},
		" 4 , layers = 1, 2, to-do=a=b ": {head: "4", said: true, values: []keyValue{{"layers", "1,2"}, {"to-do", "a=b"}}},
		"exact=0>1=9,5us;1>0=8":          {values: []keyValue{{"exact", "0>1=9,5us;1>0=8"}}},
		"exact=,layers=":                 {values: []keyValue{{"exact", ""}, {"layers", ""}}},
	} {
		if got, err := parseKeys(text, keys); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"4,layer=1":       `"layer" (did you mean layers?) is not one of its keys: layers, exact, to-do`,
		"exact=1,exact=2": "exact stands there twice: give it once",
		"4,exact":         "exact is not a KEY=VALUE: say exact=",
	} {
		if _, err := parseKeys(text, keys); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Wrong values are named by flag and key, as they are written.
func TestWrongKeysAreNamed(t *testing.T) {
	for args, want := range map[string]string{
		"--prune score=weight,size=3":   `train: --prune: "size" is not one of its keys: score, max`,
		"--optimizer amsgrad=maybe":     `train: --optimizer amsgrad: "maybe" is not on or off`,
		"--optimizer amsgrad=on,adamw":  "train: --optimizer: adamw stands behind amsgrad=: the value comes before its keys, as in --optimizer adamw,amsgrad=on",
		"--cache gpu=1GiB,jaca":         "train: --cache: jaca stands behind gpu=: the value comes before its keys, as in --cache jaca,gpu=1GiB",
		"--prune score=influence,0.1":   "train: --prune: 0.1 stands behind score=: the value comes before its keys, as in --prune 0.1,score=influence",
		"--cache topk=x":                `train: --cache topk: "x" is not a whole number`,
		"--partitioner balance=1.2,by=": "",
	} {
		if _, _, err := applied(t, strings.Fields(args)...); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	given, cfg, err := applied(t, "--staleness", "4,layers=1,2", "--machines", "net=1Gbit/s,100us")
	layers, net := cfg.StaleLayers.Value, cfg.Net
	if err != nil || cfg.Staleness != 4 || !slices.Equal(layers, []int{1, 2}) || net.Value == nil || net.err != nil ||
		len(given) != 3 {
		t.Errorf("%v: %d, layers %v, net %+v, given %v", err, cfg.Staleness, cfg.StaleLayers, cfg.Net, given)
	}
}
