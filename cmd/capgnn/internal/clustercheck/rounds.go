package clustercheck

import "slices"

// rounds returns all pairs of ranks, the lower rank first, in rounds: no machine is in two pairs of a round, so measurements of a round do
// not share a line, nor the memory of a machine. All ranks derive the same rounds from their machines.
func rounds(hosts []string) (all [][][2]int) {
	busy := []map[string]bool{} // machines of a round
	for a := range hosts {
		for b := a + 1; b < len(hosts); b++ {
			k := slices.IndexFunc(busy, func(m map[string]bool) bool { return !m[hosts[a]] && !m[hosts[b]] })
			if k < 0 {
				k = len(all)
				all, busy = append(all, nil), append(busy, map[string]bool{})
			}
			all[k] = append(all[k], [2]int{a, b})
			busy[k][hosts[a]], busy[k][hosts[b]] = true, true
		}
	}
	return all
}
