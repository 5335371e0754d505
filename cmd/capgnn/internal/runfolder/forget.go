package runfolder

import (
	"fmt"
	"slices"
)

// PartitionOptions are the options of train that decide how a graph is cut, and for what model.
var PartitionOptions = rowsOf("dataset", "edges", "standardize", "features", ignoreWeights, "split", allowOverlap, "self-loops", "model", "layers", "hidden", "heads",
	"seed", "devices", "parts", "partitioner", machinesOption, "cost", "prune", "profile", "storage", "cache", "staleness", "peer", HaloDtype)

// Forget drops what a config file recorded about choices that flags beside it have changed.
func Forget(cfg *Config, given []string) {
	changed := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(given, name) })
	}
	if changed("dataset") {
		cfg.DatasetPath = ""
	}
	if changed("devices", "parts", "profile") {
		cfg.Targets = ""
		cfg.Set("cache-links", "")
	}
	if changed("devices", "parts", "partitioner", "plan", isolated) && !changed(machinesOption) {
		cfg.Set(machinesOption, "")
	}
	if changed(PartitionOptions...) || changed("plan") {
		cfg.Set("cache-slots", "")
		cfg.CacheLayers = layersOpen
	}
	if changed(PartitionOptions...) || changed("plan", isolated) {
		cfg.PlanKey = ""
	}
	if changed(sampler) && !changed(fanOut) {
		cfg.Set(fanOut, "")
	}
	if cfg.PlanKey == "" || changed(sampling, batchSize, sampler) {
		cfg.Set(merged, "")
	}
	if changed(batchSize) {
		cfg.forgetMode(changed)
	}
	if changed("devices", isolated) && !changed("parts") {
		cfg.Parts = 0
	}
	if changed("dataset", "edges", ignoreWeights, "features", "split", "seed", "self-loops", "model") {
		cfg.DataSHA256 = ""
	}
}

// forgetMode drops what a full-batch run recorded, or a sampled one, where the other may follow.
func (c *Config) forgetMode(changed func(names ...string) bool) {
	c.PlanKey = "" // parts of full-batch runs may be fitted to devices
	c.Set("cache-slots", "")
	c.CacheLayers = layersOpen
	if !changed("order") {
		c.Order = OrderAuto
	}
	for _, name := range []string{fanOut, sampler, evalFanout, sampling, merged} {
		if !changed(name) && !c.Sampled() {
			defaults := Default()
			c.Set(name, fmt.Sprint(defaults.valueOf(name)))
		}
	}
}
