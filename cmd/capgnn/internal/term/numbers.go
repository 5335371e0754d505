package term

import "capgnn/internal/number"

// Short names of how this program writes numbers (package number).

// Size writes an amount of bytes.
func Size[T ~int64](b T) string { return number.Bytes.Text(float64(b)) }

// Duration writes seconds, - where there are none.
func Duration(s *float64) string { return number.Seconds.Or(s) }

// Score writes a metric, - where there is none.
func Score(x *float64) string { return number.Score.Or(x) }

// Percentage writes a share.
func Percentage(x float64) string { return number.Share.Text(x) }

// Counted writes how many there are of a thing: 1 part, 2 parts.
func Counted[T ~int | ~int64](n T, what string) string { return number.Counted(n, what) }

// Grouped writes a count.
func Grouped[T ~int | ~int32 | ~int64](n T) string { return number.Grouped(int64(n)) }
