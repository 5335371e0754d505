// Package clustercheck finds out whether machines can train together, what keeps them from it, and how fast rows travel between them.
//
// Its nouns: a Machine is what one rank says of where it runs; a Pair is the way from one rank to another, measured; a Problem is what is
// wrong, and what mends it; a Report is all of it; a Group is what measuring asks of the ranks.
//
// # Contract
//
// All ranks of a run call Run at once, as they would train; a process alone says what it can see. What can be seen without the others
// comes first: a secret (made where there is none), the name of rank 0. Then the ranks join, and every pair is
// measured, a round of pairs at a time, each on machines of its own, with the messages and on the connections of a run. A pair takes
// at most two seconds on a line of 1 Mbit/s. Rank 0 prints the report.
//
// What keeps ranks from training is wrong use (exit code 2), in one line that says what to do; what only slows them down stands in the report.
//
// # Usage
//
//	err := clustercheck.Run(ctx, console, clustercheck.Options{Place: place, Cores: 8, Settings: settings})
package clustercheck
