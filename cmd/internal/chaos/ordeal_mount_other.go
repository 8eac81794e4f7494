//go:build !linux

package chaos

import "errors"

func mountMemory(string, int64) error { return errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }
