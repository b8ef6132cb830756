import type { Readable } from 'node:stream';
import type { Log } from '../../process/log.ts';
import { printable } from '../../texts/printable.ts';
import type { Clock } from '../../time/clock.ts';

const WINDOW_MS = 60_000;
/** Maximum number of lines that are logged per minute. */
const MAX_LINES = 100;
const MAX_CHARACTERS = 1_000;

/**
 * Logs at `debug` what a program writes to its standard error. Long lines are cut, and lines beyond `MAX_LINES` are
 * left out.
 */
export function logStderr(stderr: Readable, { clock, log }: { clock: Clock; log: Pick<Log, 'debug'> }): void {
  let since = clock.now();
  let lines = 0;
  let left_out = 0;
  let rest = '';
  stderr.setEncoding('utf8');
  stderr.on('data', (piece: string) => {
    const all = `${rest}${piece}`.split('\n');
    // Of an incomplete line, only the part that can be logged is kept.
    rest = (all.pop() ?? '').slice(0, MAX_CHARACTERS + 1);
    for (const line of all) write(line);
  });
  stderr.on('end', () => {
    if (rest !== '') write(rest);
  });

  function write(line: string): void {
    const now = clock.now();
    if (Math.abs(now - since) >= WINDOW_MS) {
      if (left_out > 0) log.debug({ left_out }, 'lines of the program were left out');
      since = now;
      lines = 0;
      left_out = 0;
    }
    if (lines === MAX_LINES) {
      left_out++;
      return;
    }
    lines++;
    const shown = printable(line.slice(0, MAX_CHARACTERS));
    log.debug({ line: line.length > MAX_CHARACTERS ? `${shown}…` : shown }, 'a line of the program');
  }
}
