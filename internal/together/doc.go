// Package together lets the processes of a run, which are called ranks, agree: all of them make the same calls in the same order, and all get the same.
//
// Its nouns: Ranks is what a process knows and asks of the others, which package cluster/tcp implements; a Talk is a process's side of what they say to each other about a
// run; a section is a piece of a checkpoint that lies at one rank.
//
// # Contract
//
// Records are of parts, which are numbered over ranks: Gather returns those of all parts in part order at every rank, so whatever follows from them is the same everywhere. First
// returns what rank 0 has. Sections pass between ranks a piece at a time: each is read to its end at every rank. Where there is one process all of this returns what it is given.
// Every call ends with its context, and then reports what has ended that.
//
// # Usage
//
//	talk := together.Talk{Ranks: ranks, Parts: parts, Names: names, Waits: &waits}
//	all, err := together.Gather(ctx, talk, tagEpoch, own) // one record for each part of this process
//	save, err := together.First(ctx, talk, tagSave, slow)
package together
