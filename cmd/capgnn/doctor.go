package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/clustercheck"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "check the devices of this machine, and say how to correct problems", UsageText: "capgnn doctor",
		Description: "The exit code is 0, even if there are problems; with --cluster it is 2 if a problem keeps machines from training together. A build with CUDA uses the libraries that CAPGNN_CUDA (the driver), CAPGNN_NVML and " +
			"CAPGNN_CUBLAS name, else those of the system, for the driver also below /usr/local/nvidia. CAPGNN_CUBLAS=none trains without cuBLAS.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "cluster", Category: runfolder.GroupMachines, Usage: "look at what several machines need: secret, names, ports, and between ranks (capgnn launch --hosts a,b -- doctor --cluster) rates, latency, MTU"},
		}, runfolder.FlagsOf(ranks.Flags...)...),
		Action: func(c *cli.Context) error {
			if c.Bool("cluster") {
				return clusterAction(c)
			}
			if err := refuseRanks(c); err != nil {
				return err
			}
			d := examineMachine()
			if c.Bool("json") {
				return json.NewEncoder(c.App.Writer).Encode(d)
			}
			_, err := fmt.Fprint(c.App.Writer, d)
			return err
		},
	}
}

// refuseRanks refuses flags of several machines where these are not asked for.
func refuseRanks(c *cli.Context) error {
	for _, name := range ranks.Flags {
		if c.IsSet(name) {
			return term.Usagef("--%s is of several machines: add --cluster", name)
		}
	}
	return nil
}

// clusterAction looks at several machines.
func clusterAction(c *cli.Context) error {
	k := term.NewConsole(c)
	ctx, stop := term.Interruptible(c.Context, k, "at once")
	defer stop()
	o, err := checkOptions(c)
	if err != nil {
		return err
	}
	return clustercheck.Run(ctx, k, o)
}

// checkOptions returns how several machines are looked at.
func checkOptions(c *cli.Context) (clustercheck.Options, error) {
	place, err := ranks.Find(c)
	if err != nil {
		return clustercheck.Options{}, term.AsUsage(err)
	}
	how, err := runfolder.Said(c, "transport")
	if err != nil {
		return clustercheck.Options{}, err
	}
	onlySecret := !slices.ContainsFunc([]string{"", "join-timeout", "peer-timeout"}, func(key string) bool { return runfolder.Gives(c, "transport", key) })
	if place.Ranks < 2 && !onlySecret {
		return clustercheck.Options{}, term.Usagef("--transport: rows travel between ranks, and this process is alone: drop it but for secret=, or start ranks, as in `capgnn launch --hosts a,b -- %s --cluster`", c.Command.Name)
	}
	return clustercheck.Options{Place: place, SecretFile: how["secret"], Cores: devices.Cores(), Settings: func() (ranks.Settings, error) {
		s, err := ranks.FromContext(c)
		if !runfolder.Gives(c, "transport", "join-timeout") {
			s.JoinTimeout = clustercheck.Patience
		}
		return s, err
	}}, nil
}

// diagnosis is what doctor reports. Bytes are -1 where nothing is known, and math.MaxInt64 where there is no limit.
type diagnosis struct {
	Build    term.BuildInfo `json:"build"`
	CUDA     bool           `json:"cuda"` // this build can use GPUs
	Cores    int            `json:"cores"`
	Total    gpu.Bytes      `json:"memory_total"`
	Free     gpu.Bytes      `json:"memory_free"`
	Lock     lockReport     `json:"page_lock"`
	Driver   string         `json:"driver,omitempty"`       // version of the kernel driver
	Supports string         `json:"cuda_version,omitempty"` // that the driver supports
	Library  string         `json:"libcuda,omitempty"`      // file that the driver was loaded from
	BLAS     *blasReport    `json:"cublas,omitempty"`
	GPUs     []gpuReport    `json:"gpus"`
	Problems []problem      `json:"problems"`
}

// lockReport is how much memory this process may page-lock by itself; what the GPU driver locks does not count.
type lockReport struct {
	Soft   int64 `json:"soft"`
	Hard   int64 `json:"hard"`
	Locked int64 `json:"locked"`
}

type blasReport struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// gpuReport is one GPU.
type gpuReport struct {
	Device        string    `json:"device"` // "" if this process does not see it
	Model         string    `json:"model"`
	UUID          string    `json:"uuid"`
	Capability    string    `json:"compute_capability,omitempty"`
	Total         gpu.Bytes `json:"memory_total"`
	Free          gpu.Bytes `json:"memory_free"`
	Generation    int       `json:"pcie_generation"`
	Width         int       `json:"pcie_width"`
	MaxGeneration int       `json:"pcie_max_generation"`
	MaxWidth      int       `json:"pcie_max_width"`
	Temperature   int       `json:"temperature_celsius"`
	Power         int       `json:"power_watts"`
	HalfProducts  bool      `json:"bf16_products"` // cuBLAS multiplies bf16 on it
	Reaches       []string  `json:"reaches"`       // devices whose memory it reads without the host
}

// problem is something that makes training slower or impossible, and what to do about it.
type problem struct {
	What string `json:"what"`
	Mend string `json:"mend"`
}

func (d *diagnosis) problem(what, mend string) {
	d.Problems = append(d.Problems, problem{what, mend})
}

// examineMachine looks at everything.
func examineMachine() *diagnosis {
	d := &diagnosis{Build: term.ReadBuildInfo(), CUDA: devices.BuiltWithCUDA, Cores: devices.Cores(), Free: -1, Total: -1, GPUs: []gpuReport{}, Problems: []problem{}}
	if free, total, err := hostmem.Free(); err == nil {
		d.Free, d.Total = gpu.Bytes(free), gpu.Bytes(total)
	}
	d.Lock.Soft, d.Lock.Hard, d.Lock.Locked = hostmem.Locks()
	if few := int64(1) << 30; d.Lock.Soft >= 0 && d.Lock.Soft < few {
		d.problem(fmt.Sprintf("CPU devices may page-lock only %s", term.Size(gpu.Bytes(d.Lock.Soft))),
			"raise it with `ulimit -l unlimited`, or `memlock` in /etc/security/limits.conf; what cannot be locked is used as it is")
	}
	d.examine()
	return d
}

// limit returns an amount that may be unknown or unlimited.
func limit(n int64) string {
	switch n {
	case -1:
		return "unknown"
	case math.MaxInt64:
		return "unlimited"
	}
	return term.Size(gpu.Bytes(n))
}

// String is the report as a person reads it.
func (d *diagnosis) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "processor\t%d cores for CPU devices\n", d.Cores)
	fmt.Fprintf(w, "memory\t%s free of %s\n", limit(int64(d.Free)), limit(int64(d.Total)))
	fmt.Fprintf(w, "page-locking\t%s, %s on request (ulimit -l)\n", limit(d.Lock.Soft), limit(d.Lock.Hard))
	if d.Driver != "" || d.Supports != "" {
		fmt.Fprintf(w, "GPU driver\t%s, for CUDA %s\n", orDash(d.Driver), orDash(d.Supports))
	}
	if d.Library != "" {
		fmt.Fprintf(w, "libcuda\t%s\n", d.Library)
	}
	if d.BLAS != nil {
		fmt.Fprintf(w, "cuBLAS\t%s, %s\n", d.BLAS.Version, d.BLAS.Path)
	}
	w.Flush()
	if len(d.GPUs) > 0 {
		b.WriteByte('\n')
		d.gpuTable(&b)
	}
	b.WriteByte('\n')
	if len(d.Problems) == 0 {
		b.WriteString("nothing is wrong\n")
	}
	for _, p := range d.Problems {
		fmt.Fprintf(&b, "! %s\n  %s\n", p.What, p.Mend)
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// gpuTable prints a line for each GPU.
func (d *diagnosis) gpuTable(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "device\tmodel\tcapability\tmemory free\tPCIe now\tat most\t°C\tW\tbf16 products\treaches")
	for _, g := range d.GPUs {
		who := "own kernels"
		if g.HalfProducts {
			who = "cuBLAS"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s of %s\t%s\t%s\t%s\t%s\t%s\t%s\n", orDash(g.Device), g.Model, orDash(g.Capability), limit(int64(g.Free)), limit(int64(g.Total)),
			pcie(g.Generation, g.Width), pcie(g.MaxGeneration, g.MaxWidth), known(g.Temperature), known(g.Power), who, orDash(strings.Join(g.Reaches, " ")))
	}
	w.Flush()
}

func pcie(generation, width int) string {
	if width == 0 {
		return "-"
	}
	return fmt.Sprintf("gen %d x%d", generation, width)
}

// known returns n, or a dash where it is not known.
func known(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
