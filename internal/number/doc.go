// Package number says how numbers are written wherever a person reads them: in tables, progress, notes, reports and figures.
//
// Its noun is a Kind: what a number is of. Files that programs read (JSON, CSV) hold numbers as they are.
//
// Contract: Text is a function of the kind and the number alone. A number has a unit in which it is at least 1, where its kind has
// several; times, sizes, ratios and rates have about three digits that count, so that neighbours in a column are of one width.
// Text holds no character outside ASCII but those of units (µ) and no line break.
//
//	number.Seconds.Text(0.0123)         // 12.3 ms
//	number.Bytes.Text(64 << 20)         // 64.0 MiB
//	number.Count.Text(495924)           // 495,924
//	number.Share.Text(0.4567)           // 45.7 %
//	number.Rate(12.34, "epochs")        // 12.3 epochs/s
package number
