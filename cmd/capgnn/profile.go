package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"capgnn/gpu"
	"capgnn/profiler"
)

func profileCommand() *cli.Command {
	return &cli.Command{
		Name:  "profile",
		Usage: "measure what devices can do", UsageText: "capgnn profile --devices cpu:threads=1,cpu:threads=1,slow=3",
		Description: "Dense and sparse products, copies to, from, inside and between devices. The profile is kept in the cache, where train finds it.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "devices", Usage: "`LIST` as for train", DefaultText: "auto"},
			&cli.BoolFlag{Name: "quick", Usage: "small matrices and few runs: a few seconds"},
			&cli.StringFlag{Name: "out", Usage: "write the profile to `FILE` too"},
		},
		Action: profileAction,
	}
}

func profileAction(c *cli.Context) error {
	k := newConsole(c)
	ctx, stop := interruptible(c.Context, k, "after this measurement")
	defer stop()
	specs, err := parseDevices(c.String("devices"))
	if err != nil {
		return err
	}
	if specs[0].simulated() {
		return usagef("profile: %s is simulated: what it can do stands in its card, not in a measurement", specs[0])
	}
	shareCores(specs, cores())
	p, err := measure(ctx, k, specs, profiler.Options{Quick: c.Bool("quick"), Calibrate: !c.Bool("quick")})
	if err != nil {
		return err
	}
	if path, err := latestProfile(); err != nil {
		k.note("the profile is not cached: %v", err)
	} else if err := p.Write(path); err != nil {
		k.note("the profile is not cached: %v", err)
	} else {
		k.note("profile: %s", path)
	}
	if out := c.String("out"); out != "" {
		if err := p.Write(out); err != nil {
			return usagef("--out: %w", err)
		}
	}
	if k.json {
		return json.NewEncoder(k.out).Encode(p)
	}
	_, err = fmt.Fprint(k.out, p.Table())
	return err
}

// measure opens the devices, profiles them as opt says and closes them again, so that nothing of it counts as the use of a run.
func measure(ctx context.Context, k *console, specs []deviceSpec, opt profiler.Options) (p *profiler.Profile, err error) {
	devices, err := openDevices(specs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeDevices(devices)) }()
	bar := k.begin("profile", progressSteps, unitShare, 2*time.Second)
	defer bar.end()
	preparePinned(&opt)
	opt.Progress = func(stage string, done, total int) { bar.at(progressSteps*int64(done)/int64(max(1, total)), stage) }
	p, err = profiler.Measure(ctx, devices, opt)
	if errors.Is(err, context.Canceled) {
		return nil, &interruptedError{"while measuring: nothing was written"}
	}
	if err == nil {
		noteLinks(p)
	}
	return p, asUsage(err)
}

// measured returns a profile of these devices, in their order: the one in file if that is not "", else a cached one, else a
// quick measurement, which is cached.
func measured(ctx context.Context, k *console, specs []deviceSpec, file string) (*profiler.Profile, error) {
	if specs[0].simulated() {
		return cardProfile(specs)
	}
	devices, err := openDevices(specs)
	if err != nil {
		return nil, err
	}
	p, err := profiled(devices, file)
	cached := ""
	if err == nil && p == nil {
		p, cached = cachedProfile(k, devices)
	}
	if err := errors.Join(err, closeDevices(devices)); err != nil {
		return nil, err
	}
	if p == nil {
		k.note("profile: none of these devices is cached: measuring them quickly (`capgnn profile` does it thoroughly)")
		if p, err = measure(ctx, k, specs, profiler.Options{Quick: true, Calibrate: true}); err != nil {
			return nil, err
		}
		if cached != "" {
			if err := p.Write(cached); err != nil {
				k.note("the profile is not cached: %v", err)
			}
		}
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
		return nil, usagef("--profile %s: %w", file, err)
	}
	if p.Devices, err = p.Match(devices); err != nil {
		return nil, usagef("--profile %s: %w", file, err)
	}
	return p, nil
}

// cachedProfile returns a cached profile of the devices, nil if there is none, and where one made for them is to be cached,
// "" if nowhere. The last one made by `capgnn profile` goes first.
func cachedProfile(k *console, devices []gpu.Device) (p *profiler.Profile, own string) {
	latest, err := latestProfile()
	if err != nil {
		k.note("profiles are not cached: %v", err)
		return nil, ""
	}
	h := sha256.New()
	for _, d := range devices {
		fmt.Fprintln(h, d.Info().UUID)
	}
	own = filepath.Join(filepath.Dir(latest), "profile-"+hex.EncodeToString(h.Sum(nil))[:32]+".json")
	for _, path := range []string{latest, own} {
		p, err := profiler.Read(path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				k.note("%v", err)
			}
			continue
		}
		if rows, err := p.Match(devices); err == nil {
			k.note("profile: %s", path)
			p.Devices = rows
			return p, own
		}
	}
	return nil, own
}

// latestProfile returns where `capgnn profile` leaves its result.
func latestProfile() (string, error) {
	dir, err := cacheFolder()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w", err)
	}
	return filepath.Join(dir, "profile.json"), nil
}
