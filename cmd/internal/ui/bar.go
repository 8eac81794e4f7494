package ui

import (
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
)

// IsTerminal reports whether a person sees what is written to w.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// Bar shows how far a long work has come; where nobody sees it, it does nothing.
type Bar struct {
	out  io.Writer // nil = nobody sees it
	what string
	bar  *progressbar.ProgressBar // nil until the size is known
}

// NewBar is a bar on w that appears with the first Show.
func NewBar(w io.Writer, what string) *Bar {
	if !IsTerminal(w) {
		w = nil
	}
	return &Bar{out: w, what: what}
}

// Show tells how much of the input was read, in bytes; size 0 = it is not known.
func (b *Bar) Show(read, size int64) {
	if b.out == nil {
		return
	}
	if b.bar == nil {
		if size <= 0 {
			size = -1 // a spinner
		}
		b.bar = progressbar.NewOptions64(size, progressbar.OptionSetWriter(b.out), progressbar.OptionSetDescription(b.what),
			progressbar.OptionShowBytes(true), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish())
	}
	_ = b.bar.Set64(read) // what the terminal answers is of no matter to the work
}

// Done takes the bar off the screen.
func (b *Bar) Done() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}
