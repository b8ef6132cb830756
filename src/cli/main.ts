import { EXIT } from './exit-codes.ts';
import { programHelp } from './program-help.ts';
import { version } from './version.ts';

/**
 * The program, and the only place that ends it. The exit code is set, not forced, so that what was printed
 * reaches a slow reader first.
 */
const argv = process.argv.slice(2);

// A reader that has seen enough (`agentd logs | head`) is no failure; a full disk below `> file` is one.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit();
    if (stream === process.stdout)
      process.stderr.write(`agentd: the output cannot be written: ${error.message}\n`);
    process.exit(EXIT.no);
  });
}

// Answered before the parser of command lines is loaded: scripts, supervisors and people ask this often.
const only = argv.length === 1 ? argv[0] : undefined;
if (only === '--version' || only === '-V') {
  process.stdout.write(`${version()}\n`);
} else if (only === '--help' || only === '-h') {
  process.stdout.write(programHelp());
} else {
  const { runProgram } = await import('./program.ts');
  process.exitCode = await runProgram(argv, { stdout: process.stdout, stderr: process.stderr, cwd: '.' });
}

/** A handle that a library left open must not keep a finished command; unreferenced, it delays no other. */
const LINGER_MS = 2000;
setTimeout(() => process.exit(), LINGER_MS).unref();
