#!/bin/sh
':' //; exec node --min-semi-space-size=8 -- "$0" "$@"
/**
 * Checks the version of Node.js, then imports the program. If the version is too old, this file starts the pinned
 * Node.js instead, or reports the version. It is written in old JavaScript, so that an old Node.js can run it, too.
 *
 * A shell runs the second line, which Node.js reads as a string and a comment. The reason is that Node.js has its own
 * option `--env-file`: it searches all arguments for this option, including those of the program, and exits with 9 if
 * the file does not exist; it ignores arguments after `--`. (`env -S node --` in the first line would need no shell,
 * but BusyBox has no `-S`.)
 *
 * The option in that line gives V8 8 MiB for new objects from the start. Without it, V8 collects garbage many times
 * while modules are loaded, which needs an eighth of the CPU time of a start.
 */
import { existsSync, statSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const NEEDED = [22, 18];
const EXIT_CONFIG = 78;
const NODE_OPTION = '--min-semi-space-size=8';
/** Set for the pinned Node.js: if it is too old as well, it must not start another Node.js. */
const HANDED_OVER = 'AGENTD_HANDED_OVER';

// Without a listener, Node.js opens its inspector at this signal, and the inspector runs any code. (The option
// --disable-sigusr1 has the same effect, but an old Node.js does not know it, and would not get as far as the check below.)
process.on('SIGUSR1', () => {});

const program = new URL('../dist/src/cli/main.js', import.meta.url);
const pinned = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));

if (isNewEnough(process.versions.node)) {
  if (process.env[HANDED_OVER]) {
    dieWithLauncher();
    // The launcher has passed its sockets on. LISTEN_PID still names the launcher.
    if (process.env.LISTEN_PID === String(process.ppid)) process.env.LISTEN_PID = String(process.pid);
  }
  delete process.env[HANDED_OVER];
  if (existsSync(program)) {
    keepCompiledCode();
    import(program.href);
  } else {
    const root = fileURLToPath(new URL('..', import.meta.url));
    refuse(`not built yet: ${fileURLToPath(program)} is missing. Run \`npm ci\` in ${root}`);
  }
} else if (!process.env[HANDED_OVER] && existsSync(pinned)) {
  handOver();
} else {
  refuse(
    `needs Node.js >= ${NEEDED.join('.')}, but this is v${process.versions.node} (${process.execPath}). Install a newer one, and put it first in PATH`,
  );
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]);
}

/**
 * Keeps compiled code beside the program, so that each later start needs a fifth less CPU time. Only for the user who
 * owns the program: nobody else may add code to it, and the owner could not delete the files of another user.
 */
function keepCompiledCode() {
  const built = fileURLToPath(new URL('../dist/', import.meta.url));
  if (process.getuid && statSync(built).uid === process.getuid()) module.enableCompileCache(`${built}.compiled`);
}

/** Runs the same command line with the pinned Node.js, and exits with the same code. */
async function handOver() {
  const { spawn } = await import('node:child_process');
  const { constants } = await import('node:os');
  const env = Object.assign({}, process.env, { [HANDED_OVER]: '1' });
  // Sockets of the service manager (sd_listen_fds(3)) have the numbers from 3 on, also in the other process.
  const sockets = process.env.LISTEN_PID === String(process.pid) ? Number(process.env.LISTEN_FDS) || 0 : 0;
  const stdio = ['inherit', 'inherit', 'inherit'].concat(new Array(sockets).fill('inherit'), ['ipc']);
  // On a terminal, Ctrl-C reaches both processes. A second SIGINT would end the daemon at once.
  const onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  let stopping = false;
  // Before the process starts: a signal that arrives while it does must not end this process alone.
  process.on('SIGINT', () => stop('SIGINT'));
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGHUP', () => child.kill('SIGHUP'));
  const child = spawn(pinned, [NODE_OPTION, '--', ...process.argv.slice(1)], { stdio, env });
  child.on('error', (error) => refuse(`cannot start ${pinned}: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exitCode = signal ? 128 + constants.signals[signal] : code;
  });

  function stop(signal) {
    if (signal === 'SIGTERM' || !onTerminal) child.kill(signal);
    // The daemon cannot know whether a signal that soon follows another is an echo of it. This process can, except under npm.
    if (stopping && child.connected && !process.env.npm_lifecycle_event) child.send('second signal', () => {});
    stopping = true;
  }
}

/**
 * Ends this process if its launcher was killed: the launcher cannot pass SIGKILL on, but its IPC channel closes. Whoever
 * kills the daemon expects its address and its store to be free.
 */
function dieWithLauncher() {
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // A command that has finished does not wait for its launcher.
  if (process.channel) process.channel.unref();
}

function refuse(problem) {
  process.stderr.write(`agentd: ${problem}\n`);
  process.exitCode = EXIT_CONFIG;
}
