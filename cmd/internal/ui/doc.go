// Package ui is how the command line shows things to people: numbers with separators,
// distances, a progress bar where there is a terminal to see it.
package ui
