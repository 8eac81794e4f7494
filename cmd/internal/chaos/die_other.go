//go:build !linux

package chaos

import "os/exec"

func dieWithUs(*exec.Cmd) {}
