package runfolder

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"capgnn/jaca"
)

// LinksEqual says that all links are as fast.
const LinksEqual = "equal"

// planKey is the option that names the parts of a run. In a file a checksum of the settings that they were made by stands
// behind it.
const planKey = "plan-key"

// partSettings are those that the checksum is of. Which graph the parts are of their plan says.
var partSettings = slices.DeleteFunc(append(rowsOf("plan", isolated, batchSize), PartitionOptions...),
	func(name string) bool { return name == "dataset" })

// partSum is the checksum.
func (c *Config) partSum() string {
	h := sha256.New()
	for _, o := range Options {
		if o.Says(c) && slices.Contains(partSettings, o.Name) {
			fmt.Fprintf(h, "%s=%v\n", o.Name, o.Value(c))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// checkRecordedParts takes the checksum from the key that a file has, and drops parts that were made by other settings than the
// file has by now, with what was decided for them.
func (c *Config) checkRecordedParts() {
	key, sum, _ := strings.Cut(c.PlanKey, "-")
	if c.PlanKey = key; key == "" || sum == c.partSum() {
		return
	}
	c.cutEdited, c.PlanKey, c.Targets, c.CacheLayers = true, "", "", layersOpen
	for _, name := range []string{"cache-slots", "cache-links", merged} {
		c.Set(name, "")
	}
}

// CutEdited reports whether somebody has changed, in a file that names parts, what they were made by.
func (c *Config) CutEdited() bool { return c.cutEdited }

// Link is how much longer a byte takes to a device and from it than on the fastest link of all.
type Link struct{ To, From float64 }

// parseSlots reads recorded capacities. For how many parts they must be is known when the run is divided.
func parseSlots(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var slots []int
	for item := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseUint(item, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number of rows", item)
		}
		slots = append(slots, int(n))
	}
	return slots, nil
}

// parseMerged reads the setting merged; "" is nil.
func parseMerged(text string) (*int, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return nil, fmt.Errorf("%q is not a number of time steps", text)
	}
	steps := int(n)
	return &steps, nil
}

// RecordMerged keeps how many time steps a run has merged.
func (c *Config) RecordMerged(steps int) { c.Set(merged, strconv.Itoa(steps)) }

// FormatSlots writes capacities as the setting cache-slots.
func FormatSlots(c *jaca.Capacities) string {
	var items []string
	for _, n := range c.Local {
		items = append(items, strconv.Itoa(n))
	}
	return strings.Join(append(items, strconv.Itoa(c.Global)), ",")
}

// parseLinks reads what FormatLinks writes; no links: none are recorded, or all are as fast.
func parseLinks(text string) ([]Link, error) {
	if text == "" || text == LinksEqual {
		return nil, nil
	}
	var links []Link
	for item := range strings.SplitSeq(text, ",") {
		to, from, _ := strings.Cut(item, ":")
		x, err1 := strconv.ParseFloat(to, 64)
		y, err2 := strconv.ParseFloat(from, 64)
		if slow := func(x float64) bool { return x >= 1 && x <= math.MaxFloat32 }; err1 != nil || err2 != nil || !slow(x) || !slow(y) {
			return nil, fmt.Errorf("%q is not how much longer a byte takes to a device and from it, such as 1:2.5", item)
		}
		links = append(links, Link{x, y})
	}
	return links, nil
}

// LinkDigits is how exactly links are recorded.
const LinkDigits = 4

// FormatLinks writes the links of all devices as the setting cache-links. No links: all are as fast.
func FormatLinks(all []Link) string {
	if len(all) == 0 {
		return LinksEqual
	}
	items := make([]string, len(all))
	for i, l := range all {
		items[i] = fmt.Sprintf("%.*g:%.*g", LinkDigits, l.To, LinkDigits, l.From)
	}
	return strings.Join(items, ",")
}
