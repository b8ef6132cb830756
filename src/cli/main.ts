import { version } from '../daemon/admin/program.ts';
import { EXIT } from './cli-error.ts';
import { ensureHome } from './ensure-home.ts';

/**
 * The entry point, and the only module that ends the process. After a command it sets the exit code and lets the
 * process end, so that a slow reader gets all output. It calls `exit` only if output fails, or if something keeps the
 * process alive for too long.
 */
const argv = process.argv.slice(2);
ensureHome();

// A reader that closes the pipe early (`agentd logs | head`) is not a failure. A full disk (`> file`) is a failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit();
    if (stream === process.stdout)
      process.stderr.write(`agentd: cannot write the output: ${error.message}\n`);
    process.exit(EXIT.no);
  });
}

// Printed without loading the command-line parser, since scripts, supervisors and people ask for these often.
const only = argv.length === 1 ? argv[0] : undefined;
if (only === '--version' || only === '-V') {
  process.stdout.write(`${version()}\n`);
} else if (only === '--help' || only === '-h') {
  const { programHelp } = await import('./help.ts');
  process.stdout.write(programHelp());
} else {
  const { runProgram } = await import('./program.ts');
  process.exitCode = await runProgram(argv, { stdout: process.stdout, stderr: process.stderr, cwd: '.' });
}

/**
 * How long a handle that a library left open may keep a finished command running, ms. The timer itself delays no exit.
 */
const LINGER_MS = 2000;
setTimeout(() => process.exit(), LINGER_MS).unref();
