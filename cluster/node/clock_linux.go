package node

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot counts time asleep, which the runtime's monotonic clock does not.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
