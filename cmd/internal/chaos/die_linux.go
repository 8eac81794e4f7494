package chaos

import (
	"os/exec"
	"syscall"
)

// dieWithUs lets the process be killed when the harness ends, however it does: a test that
// runs out of time ends without its cleanups, and a stopped process would stay for ever.
func dieWithUs(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
