package devices

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/gpu/sim"
	"capgnn/hostmem"
	"capgnn/profiler"
)

// MeasureTime is how long a device is measured where nothing else is asked for.
const MeasureTime = 6 * time.Second

// Brief says how devices are measured where nothing else is asked for: what a run is divided by, and its epochs are predicted by.
func Brief() profiler.Options {
	return profiler.Options{Quick: true, Calibrate: true, Budget: MeasureTime}
}

// MeasureInto measures the devices as opt says and writes the profile to path; "" = nowhere. What is measured is kept as it is
// made, so that a measurement that was interrupted goes on where it ended.
func MeasureInto(ctx context.Context, k *term.Console, specs []Spec, opt profiler.Options, path string) (*profiler.Profile, error) {
	if path == "" {
		return Measure(ctx, k, specs, opt)
	}
	name, err := notesName(specs, opt)
	if err != nil {
		return nil, err
	}
	notes, err := profiler.OpenNotes(filepath.Join(filepath.Dir(path), name))
	if err != nil {
		k.Note("the profile is not cached: %v", err)
		return Measure(ctx, k, specs, opt)
	}
	if n := notes.Len(); n > 0 {
		k.Note("profile: going on with %d measurements of an interrupted start", n)
	}
	opt.Notes = notes
	p, err := Measure(ctx, k, specs, opt)
	if err := notes.Close(); err != nil {
		k.Note("measurements are not saved, an interruption loses them: %v", err)
	}
	if err != nil {
		return nil, err
	}
	if err = p.Write(path); err == nil {
		err = notes.Remove()
	}
	if err != nil {
		k.Note("the profile is not cached: %v", err)
	}
	return p, nil
}

// notesName returns the name of the file of what was measured of these devices in this way and is not yet a profile.
func notesName(specs []Spec, opt profiler.Options) (string, error) {
	devices, err := Open(specs)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("measuring-%s-%t-%t-%v.jsonl", sumOf(devices), opt.Quick, opt.Calibrate, opt.Budget)
	return name, CloseAll(devices)
}

// sumOf identifies a list of devices.
func sumOf(devices []gpu.Device) string {
	h := sha256.New()
	for _, d := range devices {
		fmt.Fprintln(h, d.Info().UUID)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// Measure opens the devices, profiles them as opt says and closes them again, so that nothing of it counts as the use of a run.
func Measure(ctx context.Context, k *term.Console, specs []Spec, opt profiler.Options) (p *profiler.Profile, err error) {
	devices, err := Open(toMeasure(specs, opt.Least()))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, CloseAll(devices)) }()
	if err := measurable(devices, opt.Least()); err != nil {
		return nil, err
	}
	left := "while measuring: nothing was written"
	if opt.Notes != nil {
		left = "while measuring: the next start continues from there"
	}
	restore := k.OnInterrupt(left) // a measurement that takes long is not waited for
	k.Enter(term.Measuring)
	k.Expect(term.Measuring, opt.Budget*time.Duration(len(specs)), 1)
	bar := k.Begin("profile", term.ProgressSteps, term.UnitShare, 2*time.Second)
	defer bar.End()
	preparePinned(&opt)
	if opt.Load == nil {
		opt.Load = load
	}
	opt.Progress = func(stage string, done float64) {
		bar.At(int64(term.ProgressSteps*done), term.Cut(stage, term.DetailColumns))
	}
	p, err = profiler.Measure(ctx, devices, opt)
	if errors.Is(err, context.Canceled) {
		return nil, &term.InterruptedError{Note: left}
	}
	if err == nil {
		restore()
		noteLinks(p)
		err = complete(p)
	}
	if err != nil {
		return nil, term.AsUsage(err)
	}
	return p, nil
}

// toMeasure returns the specs, under their names, with so much memory at least: mem= bounds what a run takes and makes no other
// hardware, so that a profile of the device serves with any.
func toMeasure(specs []Spec, least gpu.Bytes) []Spec {
	specs = slices.Clone(specs)
	for i, s := range specs {
		if s.Memory > 0 && s.Memory < least {
			if !s.GPU {
				specs[i].Label = strings.TrimPrefix(s.name(), "cpu:")
			}
			specs[i].Memory = least
		}
	}
	return specs
}

// measurable reports a device that has less memory than measuring takes.
func measurable(devices []gpu.Device, least gpu.Bytes) error {
	free, _, err := hostmem.Free()
	for _, d := range devices {
		m := d.Memory()
		have := m.Budget - m.Used
		if err == nil && d.Info().Kind == gpu.CPU {
			have = min(have, gpu.Bytes(free))
		}
		if have < least {
			return &term.FitError{Err: fmt.Errorf("profile: %s has %s free, measuring it takes %s", d.Info().Name, term.Size(have), term.Size(least)),
				Remedy: "give this process more memory (ulimit -v, container, machine), or name fewer devices"}
		}
	}
	return nil
}

// complete reports a device whose calibration lacks what predictions need.
func complete(p *profiler.Profile) error {
	for i := range p.Devices {
		d := &p.Devices[i]
		if d.Calibration == nil {
			continue
		}
		if _, err := sim.NewTable(samplesOf(d.Calibration)); err != nil {
			return fmt.Errorf("profile: %s: %w: profile again", d.Name, err)
		}
	}
	return nil
}

// Profile returns a profile of these devices, in their order: the one in file if that is not "", else a cached one, else a
// brief measurement, which is cached.
func Profile(ctx context.Context, k *term.Console, specs []Spec, file string) (*profiler.Profile, error) {
	if specs[0].Simulated() {
		return CardProfile(specs)
	}
	devices, err := Open(specs)
	if err != nil {
		return nil, err
	}
	p, err := profiled(devices, file)
	cached := ""
	if err == nil && p == nil {
		p, cached = cachedProfile(k, devices)
	}
	if err := errors.Join(err, CloseAll(devices)); err != nil {
		return nil, err
	}
	if p == nil {
		k.Note("profile: no profile of these devices is in the cache: measuring them (`capgnn profile --full` measures all sizes)")
		return MeasureInto(ctx, k, specs, Brief(), cached)
	}
	return p, nil
}

// profiled returns the profile in file, of these devices; nil without a file.
func profiled(devices []gpu.Device, file string) (*profiler.Profile, error) {
	if file == "" {
		return nil, nil
	}
	p, err := profiler.Read(file)
	if err != nil {
		return nil, term.Usagef("--profile %s: %w", file, err)
	}
	if p.Devices, err = p.Match(devices); err != nil {
		return nil, term.Usagef("--profile %s: %w", file, err)
	}
	return p, nil
}

// Kept returns the profile of devices that is in the cache, nil if there is none. A device with slow= takes its factor times what is known of it without.
func Kept(k *term.Console, specs []Spec) *profiler.Profile {
	plain := slices.Clone(specs)
	for i := range plain {
		plain[i].Slow = 1
	}
	for _, list := range [][]Spec{specs, plain} {
		devices, err := Open(list)
		if err != nil {
			return nil
		}
		p, _ := cachedProfile(k, devices)
		if err := CloseAll(devices); err != nil {
			return nil
		}
		if p != nil {
			for i := range p.Devices {
				p.Devices[i] = p.Devices[i].Slowed(specs[i].Slow / list[i].Slow)
			}
			return p
		}
	}
	return nil
}

// cachedProfile returns a cached profile of the devices, nil if there is none, and where one made for them is to be cached,
// "" if nowhere. The last one made by `capgnn profile` goes first.
func cachedProfile(k *term.Console, devices []gpu.Device) (p *profiler.Profile, own string) {
	latest, err := LatestProfile()
	if err != nil {
		k.Note("profiles are not cached: %v", err)
		return nil, ""
	}
	own = filepath.Join(filepath.Dir(latest), "profile-"+sumOf(devices)+".json")
	for _, path := range []string{latest, own} {
		p, err := profiler.Read(path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				k.Note("%v", err)
			}
			continue
		}
		if p.Devices, err = p.Match(devices); err != nil || complete(p) != nil {
			continue
		}
		busy := ""
		if p.Busy() {
			busy = ": " + p.LoadText() + ", so forecasts may be wrong: measure again with `capgnn profile`"
		}
		k.Note("profile: %s%s", path, busy)
		return p, own
	}
	return nil, own
}

// LatestProfile returns where `capgnn profile` leaves its result.
func LatestProfile() (string, error) {
	dir, err := term.CacheFolder()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w", err)
	}
	return filepath.Join(dir, "profile.json"), nil
}
