import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Sink } from '../output.ts';

/** Another screen of the terminal, which leaves the usual one as it was. Its cursor is hidden. */
const ENTER = '\u{1b}[?1049h\u{1b}[?25l';
const LEAVE = '\u{1b}[?25h\u{1b}[?1049l';
const HOME = '\u{1b}[H';
const CLEAR_TO_END_OF_LINE = '\u{1b}[K';
const CLEAR_BELOW = '\u{1b}[J';

/** Ctrl-C, as a terminal in raw mode sends it, `q` and `Q`. */
const LEAVING = /[\u{3}qQ]/u;

interface LiveTerminal {
  stdin: Readable & { setRawMode?(raw: boolean): unknown; isTTY?: boolean };
  stdout: Sink;
}

/**
 * Shows a text on the whole terminal, and draws it again after each pause, until the person presses q or Ctrl-C, or until
 * the process is told to end.
 * @param draw returns the lines to show; an error ends the screen, and is thrown
 * @param pause_ms the time between the end of a drawing and the next one
 */
export async function showLive(
  { stdin, stdout }: LiveTerminal,
  draw: () => Promise<readonly string[]>,
  pause_ms: number,
): Promise<void> {
  const left = new AbortController();
  const leave = () => left.abort();
  const onKey = (keys: Buffer | string) => {
    if (LEAVING.test(String(keys))) leave();
  };
  stdin.setRawMode?.(true);
  stdin.on('data', onKey);
  stdin.on('end', leave);
  stdin.resume();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, leave);
  stdout.write(ENTER);
  try {
    while (!left.signal.aborted) {
      const lines = await draw();
      if (left.signal.aborted) return;
      // The last row stays empty, so that the terminal does not scroll.
      const shown = lines.slice(0, Math.max(1, (stdout.rows || 24) - 1));
      stdout.write(HOME + shown.map((line) => `${line}${CLEAR_TO_END_OF_LINE}\r\n`).join('') + CLEAR_BELOW);
      await delay(pause_ms, undefined, { signal: left.signal }).catch(() => undefined);
    }
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, leave);
    stdin.removeListener('data', onKey);
    stdin.removeListener('end', leave);
    stdin.setRawMode?.(false);
    stdin.pause();
    stdout.write(LEAVE);
  }
}
