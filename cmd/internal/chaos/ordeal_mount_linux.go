package chaos

import (
	"fmt"
	"syscall"
)

// mountMemory puts a file system of so many bytes, in memory, at a folder.
func mountMemory(dir string, bytes int64) error {
	return syscall.Mount("taximeter-chaos", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
}

func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
