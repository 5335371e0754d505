package main

import (
	"context"
	"log/slog"
	"strings"
)

// noteHandler prints warnings of the packages as notes. Info and Debug have their place in metrics.jsonl.
type noteHandler struct {
	k     *console
	attrs string // of WithAttrs, each with a blank before it
}

// Enabled reports whether a record of this level is printed.
func (h *noteHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle prints one line.
func (h *noteHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(" " + a.String())
		return true
	})
	h.k.note("warning: %s%s%s", r.Message, h.attrs, b.String())
	return nil
}

// WithAttrs returns a handler that prints attrs with every record.
func (h *noteHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := h.attrs
	for _, a := range attrs {
		more += " " + a.String()
	}
	return &noteHandler{k: h.k, attrs: more}
}

// WithGroup returns h: the few attributes of a warning need no groups.
func (h *noteHandler) WithGroup(string) slog.Handler { return h }
