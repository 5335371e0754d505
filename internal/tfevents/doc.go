// Package tfevents writes scalars in the event files that TensorBoard reads.
//
// Its nouns: a Writer is one open event file; a Scalar is a name and a value at some step.
//
// # Contract
//
// A file never continues another one: every start of a run makes a new one, whose name sorts behind those in the folder,
// which is the order in which TensorBoard reads them. Its first events are the format's version and a session start
// at the first step that is written; by it TensorBoard drops what earlier files say about that step and later ones, so the
// epochs that a resumed run repeats are shown once.
//
// Every event is one write to the file: a run that is killed leaves whole events but for the last, which readers ignore.
//
// A Writer belongs to one goroutine.
//
// # Source
//
// Framing: TFRecord, as documented by TensorFlow ("TFRecord and tf.train.Example"): length, masked CRC-32C of the length,
// data, masked CRC-32C of the data. Content: the messages Event, Summary and SessionLog of
// tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto, as protobuf encodes them; the few fields
// used here are encoded by hand. The paper has nothing on it.
//
// # Usage
//
//	w, err := tfevents.Create("runs/a", time.Now(), 0)
//	if err != nil {
//		return err
//	}
//	err = w.Scalars(time.Now(), 0, []tfevents.Scalar{{Tag: "loss", Value: 1.9}, {Tag: "accuracy/val", Value: 0.4}})
//	err = w.Close()
package tfevents
