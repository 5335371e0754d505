package runfolder

// Text is a setting that is written as text and used as a value. It is read once, when it is set; what was written is kept,
// also where it does not read, which Validate says.
type Text[T any] struct {
	text  string
	err   error // why it does not read
	Value T     // what it means; of valid settings
}

// String returns what was written.
func (t Text[T]) String() string { return t.text }

// textSetting is a Text with what reads it.
type textSetting interface {
	set(text string)
	wrong() error // why its text does not read
	String() string
}

// reader reads text into a setting.
type reader[T any] struct {
	*Text[T]
	parse func(text string) (T, error)
}

func (r reader[T]) set(text string) {
	value, err := r.parse(text)
	*r.Text = Text[T]{text: text, err: err, Value: value}
}

func (r reader[T]) wrong() error { return r.err }

// readBy returns the setting with what reads it.
func readBy[T any](at *Text[T], parse func(text string) (T, error)) any { return reader[T]{at, parse} }
