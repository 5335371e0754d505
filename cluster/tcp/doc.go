// Package tcp connects the processes of a run: it finds them, checks who they are, moves rows and messages between them, and
// says who was lost.
//
// Its one noun is the Group, a rank's side of the run, made by Join. Inside: a door is the port at which a rank listens while
// ranks join; a link is a connection; an outbound and an inbound are the two ends of an area; a stream is the row of messages on a control
// connection; a fault is what ends a group.
//
// # Joining
//
// Rank 0 listens at Options.Master, the others dial until it answers. Each says who it is and where it listens: at the address from which it
// reached rank 0. When all are there, rank 0 compares their facts by the function that it was given, sends everyone the list of
// members, and every rank connects to every lower one. Join returns when all pairs are connected; no port is open afterwards.
//
// # Trust
//
// All ranks derive one Ed25519 key from the secret; it is the certificate of both sides of TLS 1.3. Without a secret
// all addresses must be loopback. In plain mode rows are sent without TLS: their connection begins with a proof, in
// both directions, that each side has the key of this run, which rank 0 generated and sent by TLS; frames carry a
// CRC-32C. This excludes processes without the secret and detects errors, but not somebody who can read or change the
// network's packets. Connections that have not authenticated have 5 s and 4 KiB each, and there are at most 64 of
// them.
//
// # Contract
//
// The methods by which consumers exchange rows and messages are those of package cluster. Areas are announced once, before rows move. Send,
// Expect and Taken never block. Callbacks run on goroutines of the group, must not block, and must not call Close. A rank takes rows straight
// into the memory of an area, and only what is due: the next bytes of the message under way, or the first of a later epoch once the last
// message was taken. What it sends goes a frame of each area in turn.
//
// Gather and Broadcast are called by all ranks in the same order. What a call of a consumer does against its own table panics; what another
// rank sends never does: it is a fault.
//
// A group ends by Close, by all ranks, or by the first fault anywhere: a closed connection, PeerTimeout without a sign of life, a frame that
// is not due, or Fail. All ranks report to rank 0, which names the first fault that is no echo of others; each then has the same Ended.
// Where rank 0 is lost, each says so for itself. What was not sent is answered with that error, and Done is closed.
//
// # Usage
//
//	g, err := tcp.Join(ctx, tcp.Options{Rank: 1, Ranks: 2, Master: "node0:29500", Secret: secret, Facts: facts})
//	defer g.Close()
//	err = g.Announce(ctx, areas) // all of the run
//	g.Expect(0, 7, rows, func(epoch uint32, hi int) { arrived <- hi })
//	g.Send(0, 3, epoch, 0, mine, func(err error) { written <- err })
//	<-arrived
//	g.Taken(0, 7, epoch)
//	losses, err := g.Gather(ctx, 1, loss)
package tcp
