package runfolder

import (
	"capgnn/gpu"
)

// streamOption is the option that says whether parts take turns on their device, and streamAuto its value by which they
// do where they do not fit together.
const (
	streamOption = "stream"
	streamAuto   = "auto"
)

// checkStream refuses what parts that take turns cannot do.
func (c *Config) checkStream(p *problems) {
	if c.Stream != SwitchOn {
		return
	}
	for _, x := range []struct {
		said      bool
		flag, why string
	}{
		{c.Staleness > 0, "staleness", "they read rows of their own epoch"},
		{c.Isolated.Value != nil, isolated, "isolated parts read no rows of each other"},
		{c.HaloType.String() != gpu.FP32.String(), HaloDtype, "they exchange rows as they are stored"},
	} {
		if x.said {
			p.add("--%s on: parts take turns in an epoch, and %s: drop it, or --%s", streamOption, x.why, x.flag)
		}
	}
}
