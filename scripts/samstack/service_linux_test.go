package samstack

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// commandVariable makes this test program the command that is killed, with the value as what it runs for SAM.
const commandVariable = "SAMSTACK_TEST_PROGRAM"

// When the command is killed outright, SAM is asked to end, so that it removes its containers: it must not be killed
// itself, and it must not be asked before.
func TestServiceEndsWithTheCommand(t *testing.T) {
	if program := os.Getenv(commandVariable); program != "" {
		beTheCommand(t, program)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	program, asked := filepath.Join(dir, "sam"), filepath.Join(dir, "asked")
	script := "#!/bin/sh\ntrap 'echo asked > " + asked + "; exit' TERM\necho runs\n" +
		"while [ -e " + program + " ]; do sleep 0.02; done\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	command.Env = append(os.Environ(), commandVariable+"="+program)
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "runs\n" {
		t.Fatalf("the command says %q, %v", line, err)
	}
	if _, err := os.Stat(asked); err == nil {
		t.Error("it is asked to end while the command runs")
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // says that it was killed
	for range 1000 {
		if _, err := os.Stat(asked); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("it runs on after the command was killed")
}

// beTheCommand starts the program and runs until it is killed. It first ends a thread that might have started it, which
// Linux takes for the end of the parent.
func beTheCommand(t *testing.T, program string) {
	lines := make(chan []byte, 1)
	started := make(chan error)
	dir := t.TempDir()
	var service *service
	var start func()
	start = func() {
		runtime.LockOSThread() // and is never unlocked, so that the thread ends with the goroutine
		if syscall.Gettid() == os.Getpid() {
			go start() // the first thread does not end
			select {}
		}
		s, err := startService(program, dir, "", func(_ string, line []byte) { lines <- line }, "local", "start")
		service = s
		started <- err
	}
	go start()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	select {
	case line := <-lines:
		time.Sleep(200 * time.Millisecond) // for a signal that came to be seen, which it must not
		_, _ = os.Stdout.Write(append(line, '\n'))
		select {}
	case <-service.done:
		t.Fatal("it ended with the thread that asked for it")
	}
}
