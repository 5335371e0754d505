// Package browser opens pages in a headless Chromium for tests.
//
// Its noun is a Browser: a program that was found on this machine. Open loads one page and returns the document as it is after
// its scripts have run, and what they wrote to the console, errors above all.
//
// # Contract
//
// Every page gets a profile of its own in a temporary folder, and a deadline. Tests that find no browser skip and say so.
//
// # Source
//
// Chromium's --headless --dump-dom. Pages are opened in a frame, as windows have a least width of 500 pixels.
//
// # Usage
//
//	b := browser.Find(t)
//	seen := b.Open(t, page, browser.View{Width: 400, Dark: true})
//	for _, line := range seen.Console { t.Error(line) }
package browser
