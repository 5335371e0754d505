package devices

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
)

// Products says who multiplies dense matrices on GPUs.
type Products struct {
	Who    string
	Rounds bool // operands may be rounded to TF32
	Half   bool // what is stored in bf16 is multiplied in bf16
}

// Spec is one device of a --devices list: a CPU device, an NVIDIA GPU where GPU is set, or a simulated one where Card
// is given.
type Spec struct {
	Text    string        // as the user wrote it
	Card    string        // name of an embedded card or a card's file, "" for CPU devices
	GPU     bool          // Label is its number
	TF32    bool          // of a GPU: products may round their operands
	Label   string        // the N of cpu:N, "" if none was given; only a name
	Threads int           // 0 until ShareCores has run: an equal share of the cores; not used by simulated devices
	Memory  gpu.Bytes     // 0: the backend's or the card's
	Slow    float64       // ≥ 1: each operation takes Slow × its own time
	Link    float64       // bytes/s of each direction of its link to the host; 0: as fast as memory, or the card's
	Latency time.Duration // of every copy
	Bus     float64       // bytes/s of each direction that the links of all devices which say the same share; 0: nothing
}

// Bounds of what a spec may ask for; they catch slips of the keyboard, the backend checks what the machine has.
const (
	maxDevices = 64
	maxThreads = 1024
	maxSlow    = 1e6
	maxLatency = time.Minute
)

// Parse reads a list of devices: an item that starts with cpu:, cuda: or sim: begins a device,
// key=value items after it belong to it. auto (also "" and all) is every GPU, or one CPU device with all cores.
func Parse(list string) ([]Spec, error) {
	if IsAuto(list) {
		specs, _ := Auto()
		return specs, nil
	}
	var specs []Spec
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		kind, rest, named := strings.Cut(item, ":")
		switch {
		case named && kind == "cuda" && !BuiltWithCUDA:
			return nil, term.Usagef("--devices: %s: this build has no CUDA (`make gpu` builds it): name CPU devices such as cpu:0", item)
		case named && (kind == "cpu" || kind == "cuda" || kind == "sim"):
			if len(specs) == maxDevices {
				return nil, term.Usagef("--devices: more than %d devices", maxDevices)
			}
			d := Spec{Text: item, Slow: 1}
			if err := d.begin(kind, rest); err != nil {
				return nil, err
			}
			specs = append(specs, d)
		case len(specs) > 0 && strings.Contains(item, "="):
			d := &specs[len(specs)-1]
			d.Text += "," + item
			if err := d.set(item); err != nil {
				return nil, err
			}
		default:
			return nil, term.Usagef("--devices: %q is neither a device (cpu:0, cpu:threads=4, cuda:0) nor a key=value setting of the one before it", item)
		}
	}
	for _, d := range specs {
		if d.Simulated() != specs[0].Simulated() {
			return nil, term.Usagef("--devices: %s and %s: simulated devices have a clock of their own: name either those or real ones", specs[0].Text, d.Text)
		}
	}
	return specs, nil
}

// Check reports what is wrong with a --devices list before anything else is done: its grammar, and GPUs that are not there.
func Check(list string) error {
	specs, err := Parse(list)
	if err != nil || IsAuto(list) {
		return err
	}
	for _, d := range specs {
		if d.GPU {
			if err := findGPU(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// Simulated reports whether the device is one of gpu/sim.
func (d Spec) Simulated() bool { return d.Card != "" }

// computesOnCores reports whether the device is a share of the processor cores.
func (d Spec) computesOnCores() bool { return !d.GPU && !d.Simulated() }

// IsAuto reports whether a --devices value leaves the choice to the program.
func IsAuto(list string) bool { return list == "" || list == "auto" || list == "all" }

// begin reads what follows cpu:, cuda: or sim: in the item that begins a device: a number or a first setting, or a card.
func (d *Spec) begin(kind, rest string) error {
	if kind == "sim" {
		d.Card = rest
		_, err := d.SimCard()
		return err
	}
	d.GPU = kind == "cuda"
	if strings.Contains(rest, "=") && !d.GPU {
		return d.set(rest)
	}
	if _, err := strconv.ParseUint(rest, 10, 31); err != nil {
		if d.GPU {
			return term.Usagef("--devices: %s: %q is not the number of a GPU: write cuda:0", d.Text, rest)
		}
		return term.Usagef("--devices: %s: %q is neither a number nor a setting: write cpu:0 or cpu:threads=4", d.Text, rest)
	}
	d.Label = rest
	return nil
}

// set applies one key=value item.
func (d *Spec) set(item string) error {
	key, value, _ := strings.Cut(item, "=")
	if d.GPU && key != "mem" {
		return term.Usagef("--devices: %s: no setting %q: a GPU has mem", d.Text, key)
	}
	var err error
	switch key {
	case "threads":
		if d.Simulated() {
			return term.Usagef("--devices: %s: a simulated device has no threads: there are mem, slow, link, latency, bus", d.Text)
		}
		d.Threads, err = strconv.Atoi(value)
		if err != nil || d.Threads < 1 || d.Threads > maxThreads {
			err = fmt.Errorf("is not a number from 1 to %d", maxThreads)
		}
	case "mem":
		d.Memory, err = term.ParseBytes(value)
	case "slow":
		d.Slow, err = strconv.ParseFloat(value, 64)
		if err != nil || !(d.Slow >= 1 && d.Slow <= maxSlow) {
			err = fmt.Errorf("is not a factor from 1 to %g", maxSlow)
		}
	case "link":
		d.Link, err = parseRate(value)
	case "bus":
		d.Bus, err = parseRate(value)
	case "latency":
		d.Latency, err = time.ParseDuration(value)
		if err != nil || d.Latency < 0 || d.Latency > maxLatency {
			err = fmt.Errorf("is not a duration from 0 to %s such as 20us", maxLatency)
		}
	default:
		return term.Usagef("--devices: %s: no setting %q: there are threads, mem, slow, link, latency, bus", d.Text, key)
	}
	if err != nil {
		return term.Usagef("--devices: %s: %s: %q %w", d.Text, key, value, err)
	}
	return nil
}

// ShareCores gives every device without threads= an equal share of the cores that the others leave, at least one.
func ShareCores(specs []Spec, cores int) {
	open := 0
	for _, d := range specs {
		cores -= d.Threads
		if d.Threads == 0 && d.computesOnCores() {
			open++
		}
	}
	for i := range specs {
		if specs[i].Threads == 0 && specs[i].computesOnCores() {
			specs[i].Threads = max(1, cores/open)
		}
	}
}

// String returns the spec with everything said, in the grammar of --devices.
func (d Spec) String() string {
	var b strings.Builder
	switch {
	case d.Simulated():
		b.WriteString("sim:" + d.Card)
	case d.GPU:
		b.WriteString("cuda:" + d.Label)
	default:
		b.WriteString("cpu:")
		if d.Label != "" {
			b.WriteString(d.Label + ",")
		}
		fmt.Fprintf(&b, "threads=%d", d.Threads)
	}
	if d.Memory > 0 {
		b.WriteString(",mem=" + term.FormatBytes(d.Memory))
	}
	if d.Slow != 1 {
		b.WriteString(",slow=" + strconv.FormatFloat(d.Slow, 'g', -1, 64))
	}
	if d.Link > 0 {
		b.WriteString(",link=" + term.FormatBytes(gpu.Bytes(d.Link)) + "/s")
	}
	if d.Latency > 0 {
		b.WriteString(",latency=" + d.Latency.String())
	}
	if d.Bus > 0 {
		b.WriteString(",bus=" + term.FormatBytes(gpu.Bytes(d.Bus)) + "/s")
	}
	return b.String()
}

// name is what errors and tables call the device: cpu:N or cuda:N as given, else everything that was said about it.
func (d Spec) name() string {
	switch {
	case d.GPU:
		return "cuda:" + d.Label
	case d.Label != "":
		return "cpu:" + d.Label
	}
	return d.String()
}

// Format returns the list in the grammar of --devices.
func Format(specs []Spec) string {
	items := make([]string, len(specs))
	for i, d := range specs {
		items[i] = d.String()
	}
	return strings.Join(items, ",")
}

// Alike reports whether all devices would be equally fast, so that no measurement is needed to divide the work.
func Alike(specs []Spec) bool {
	for _, d := range specs {
		f := specs[0]
		if d.GPU != f.GPU || d.GPU && d.Label != f.Label && !sameModel(d.Label, f.Label) {
			return false
		}
		if d.Card != f.Card || d.Threads != f.Threads || d.Slow != f.Slow || d.Link != f.Link || d.Latency != f.Latency || d.Bus != f.Bus {
			return false
		}
	}
	return true
}

// parseRate reads an amount a second such as 1GiB/s.
func parseRate(s string) (float64, error) {
	amount, ok := strings.CutSuffix(s, "/s")
	perSecond, err := term.ParseBytes(amount)
	if !ok || err != nil {
		return 0, errors.New("is not a rate such as 1GiB/s")
	}
	return float64(perSecond), nil
}

// Cores is the number of processor cores that CPU devices share.
func Cores() int { return runtime.GOMAXPROCS(0) }
