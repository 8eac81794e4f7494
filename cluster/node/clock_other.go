//go:build !linux

package node

import "time"

// sinceBoot is not known here.
func sinceBoot() time.Duration { return 0 }
