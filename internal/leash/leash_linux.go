package leash

import (
	"os/exec"
	"syscall"
)

// Tie lets the command's process be killed when this one ends. Call it before the command starts.
func Tie(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
