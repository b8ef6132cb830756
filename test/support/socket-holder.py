"""
Runs a program as systemd does for a socket unit (sd_listen_fds(3)): this process listens on a free port, and the program
inherits the socket as file descriptor 3. SIGHUP restarts the program, and the socket stays open. SIGTERM stops the
program, and this process exits as the program did.
"""
import os, signal, socket, sys

signals = (signal.SIGHUP, signal.SIGTERM)
signal.pthread_sigmask(signal.SIG_BLOCK, signals + (signal.SIGCHLD,))
holder = socket.socket()
holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
holder.bind(("127.0.0.1", 0))
holder.listen(4096)


def start():
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals + (signal.SIGCHLD,))
        os.dup2(holder.fileno(), 3)
        # The socket may have had this number before, and would then be closed.
        os.set_inheritable(3, True)
        env = {**os.environ, "LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "agentd.socket"}
        os.execvpe(sys.argv[1], sys.argv[1:], env)
    return child


child = start()
restarts = False
while True:
    number = signal.sigwait(signals + (signal.SIGCHLD,))
    if number != signal.SIGCHLD:
        restarts = number == signal.SIGHUP
        os.kill(child, signal.SIGTERM)
        continue
    ended, status = os.waitpid(child, os.WNOHANG)
    if ended == 0:
        continue
    if not restarts or status != 0:
        sys.exit(os.waitstatus_to_exitcode(status))
    restarts = False
    child = start()
