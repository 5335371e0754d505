package profiler

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unicode"

	"capgnn/gpu"
)

// Version is the version of the profile file.
const Version = 1

// Profile is what was measured on the devices of one host.
type Profile struct {
	Version int       `json:"version"`
	Host    string    `json:"host"`
	Driver  string    `json:"driver,omitempty"` // GPU driver; "" without one
	Time    time.Time `json:"time"`             // when the measurement began
	N       int       `json:"n"`                // rows and columns of every dense operand
	Quick   bool      `json:"quick,omitempty"`  // few runs of small matrices: good enough to start with
	// Load is the share of the machine's processors that other programs kept busy meanwhile; nil: not known.
	Load *float64 `json:"load,omitempty"`
	// Entries is the number of entries of the sparse operand: round(0.004·N²).
	Entries int             `json:"entries"`
	Devices []DeviceProfile `json:"devices"`
	Pairs   []Pair          `json:"pairs,omitempty"`
	// Net is the measured network between the ranks, by From and then To; empty: not measured.
	Net []NetPair `json:"net,omitempty"`
}

// DeviceProfile is what was measured on one device. All matrices are N×N float32.
type DeviceProfile struct {
	Name        string    `json:"name"`
	Kind        gpu.Kind  `json:"kind"`
	Model       string    `json:"model"`
	UUID        string    `json:"uuid"`
	Variant     string    `json:"variant"`
	Threads     int       `json:"threads,omitempty"` // CPU threads; 0 for GPUs
	TotalBytes  gpu.Bytes `json:"total_bytes"`       // memory of the device
	FreeBytes   gpu.Bytes `json:"free_bytes"`        // of it, what this process could allocate
	MM          Timing    `json:"mm"`                // dense × dense
	SpMM        Timing    `json:"spmm"`              // CSR of Entries random entries × dense
	H2D         Timing    `json:"h2d"`               // host to device; from page-locked memory where Pinned
	D2H         Timing    `json:"d2h"`               // device to host; likewise
	IDT         Timing    `json:"idt"`               // copy inside the device
	Pinned      bool      `json:"pinned,omitempty"`  // H2D and D2H used page-locked host memory
	PageableH2D *Timing   `json:"pageable_h2d,omitempty"`
	PageableD2H *Timing   `json:"pageable_d2h,omitempty"`
	Link        Link      `json:"link"`
	Peak        *Peak     `json:"peak,omitempty"` // published peak, known models only
	// Calibration has the operations of training on this device; Beside has them while other devices of the profile
	// run them at the same time, as many as have processors. Empty: not measured, or no two devices compute at the
	// same time.
	Calibration []OpTime `json:"calibration,omitempty"`
	Beside      []OpTime `json:"beside,omitempty"`
}

// Link is a PCIe link. All zero for CPUs and where nothing is known.
type Link struct {
	Generation    int `json:"generation,omitempty"`     // current, 1 to 6
	Width         int `json:"width,omitempty"`          // current, lanes
	MaxGeneration int `json:"max_generation,omitempty"` // of card and slot together
	MaxWidth      int `json:"max_width,omitempty"`
}

// Linked is implemented by devices that know their PCIe link.
type Linked interface {
	Link() Link
}

// Pair is a copy of one N×N matrix from one device to another.
type Pair struct {
	From int    `json:"from"` // index into Devices
	To   int    `json:"to"`
	Peer bool   `json:"peer"` // straight from device to device; otherwise staged through host memory
	Copy Timing `json:"copy"`
}

// Timing is the time of one operation over Runs runs, in seconds.
type Timing struct {
	Mean   float64 `json:"mean_s"`
	Std    float64 `json:"std_s"` // sample standard deviation
	Median float64 `json:"median_s"`
	Runs   int     `json:"runs"`
}

// matrixBytes returns the size of one dense operand.
func (p *Profile) matrixBytes() float64 { return 4 * float64(p.N) * float64(p.N) }

// FlopsPerSec returns the rate of the dense product, from its median.
func (p *Profile) FlopsPerSec(d *DeviceProfile) float64 {
	return 2 * float64(p.N) * float64(p.N) * float64(p.N) / d.MM.Median
}

// CopyBytesPerSec returns the rate at which a copy of one operand in time t moves payload.
func (p *Profile) CopyBytesPerSec(t Timing) float64 { return p.matrixBytes() / t.Median }

// validate reports everything that is wrong with p.
func (p *Profile) validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	text := func(what, s string) {
		if len(s) > 256 {
			bad("%s is longer than 256 bytes", what)
			return
		}
		for _, r := range s {
			if !unicode.IsPrint(r) {
				bad("%s holds an unprintable character", what)
				return
			}
		}
	}
	if p.Version != Version {
		return fmt.Errorf("version %d, this program reads version %d", p.Version, Version)
	}
	text("host", p.Host)
	text("driver", p.Driver)
	if p.N < 1 || p.N > 1<<17 || p.Entries < 1 || p.Entries > p.N*p.N {
		bad("n %d or entries %d is out of range", p.N, p.Entries)
	}
	if p.Load != nil && !(*p.Load >= 0 && *p.Load <= 1) {
		bad("load %g is not in [0, 1]", *p.Load)
	}
	if len(p.Devices) < 1 || len(p.Devices) > maxDevices {
		bad("%d devices are not in [1, %d]", len(p.Devices), maxDevices)
		return errors.Join(errs...)
	}
	for i := range p.Devices {
		d := &p.Devices[i]
		for _, s := range [...][2]string{{"name", d.Name}, {"kind", string(d.Kind)}, {"model", d.Model}, {"uuid", d.UUID}, {"variant", d.Variant}} {
			text(fmt.Sprintf("device %d: %s", i, s[0]), s[1])
		}
		if err := d.validate(); err != nil {
			bad("device %d: %w", i, err)
		}
	}
	if err := checkNet(p.Net); err != nil {
		errs = append(errs, err)
	}
	for i, q := range p.Pairs {
		if q.From < 0 || q.From >= len(p.Devices) || q.To < 0 || q.To >= len(p.Devices) {
			bad("pair %d: devices %d and %d of %d", i, q.From, q.To, len(p.Devices))
		}
		if err := q.Copy.validate(); err != nil {
			bad("pair %d: %w", i, err)
		}
	}
	return errors.Join(errs...)
}

// maxDevices bounds what a profile holds; pairs grow with its square.
const maxDevices = 256

func (d *DeviceProfile) validate() error {
	var errs []error
	if d.Name == "" || d.Model == "" || d.Kind == "" {
		errs = append(errs, errors.New("name, kind or model is empty"))
	}
	if d.TotalBytes < 0 || d.FreeBytes < 0 || d.Threads < 0 {
		errs = append(errs, errors.New("memory or threads are negative"))
	}
	for _, t := range d.timings() {
		if err := t.timing.validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.name, err))
		}
	}
	if err := d.validateCalibration(); err != nil {
		errs = append(errs, err)
	}
	if d.Peak != nil && !(d.Peak.FlopsPerSec > 0 && d.Peak.BytesPerSec > 0) {
		errs = append(errs, errors.New("peak is not positive"))
	}
	return errors.Join(errs...)
}

type namedTiming struct {
	name   string
	timing *Timing
}

// timings lists the measurements that are there, in the order of tables.
func (d *DeviceProfile) timings() []namedTiming {
	list := []namedTiming{{"MM", &d.MM}, {"SpMM", &d.SpMM}, {"H2D", &d.H2D}, {"D2H", &d.D2H}, {"IDT", &d.IDT}}
	if d.PageableH2D != nil {
		list = append(list, namedTiming{"pageable H2D", d.PageableH2D})
	}
	if d.PageableD2H != nil {
		list = append(list, namedTiming{"pageable D2H", d.PageableD2H})
	}
	return list
}

// maxSeconds is more than any measured operation may take.
const maxSeconds = 1e6

func (t *Timing) validate() error {
	positive := func(x float64) bool { return x > 0 && x <= maxSeconds }
	if !positive(t.Mean) || !positive(t.Median) || !(t.Std >= 0) || math.IsInf(t.Std, 0) || t.Runs < 1 {
		return fmt.Errorf("mean %g s, deviation %g s, median %g s of %d runs are impossible", t.Mean, t.Std, t.Median, t.Runs)
	}
	return nil
}
