package term

import (
	"context"
	"log/slog"
	"strings"
)

// NoteHandler prints warnings of the packages as notes. Info and Debug have their place in metrics.jsonl.
type NoteHandler struct {
	Console *Console
	attrs   string // of WithAttrs, each with a blank before it
}

// Enabled reports whether a record of this level is printed.
func (h *NoteHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle prints one line.
func (h *NoteHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(" " + a.String())
		return true
	})
	h.Console.Note("warning: %s%s%s", r.Message, h.attrs, b.String())
	return nil
}

// WithAttrs returns a handler that prints attrs with every record.
func (h *NoteHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := h.attrs
	for _, a := range attrs {
		more += " " + a.String()
	}
	return &NoteHandler{Console: h.Console, attrs: more}
}

// WithGroup returns h: the few attributes of a warning need no groups.
func (h *NoteHandler) WithGroup(string) slog.Handler { return h }
