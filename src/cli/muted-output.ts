import { Writable } from 'node:stream';
import type { Sink } from './output.ts';

/** A terminal for readline that shows nothing while it is muted. */
export class MutedOutput extends Writable {
  readonly isTTY = true;
  isMuted = true;
  readonly #terminal: Sink;

  constructor(terminal: Sink) {
    super({ decodeStrings: false });
    this.#terminal = terminal;
  }

  get columns(): number {
    return this.#terminal.columns || 80;
  }

  override _write(text: string | Buffer, _encoding: string, done: () => void): void {
    if (!this.isMuted) this.#terminal.write(String(text));
    done();
  }
}
