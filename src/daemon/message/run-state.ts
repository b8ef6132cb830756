import type { AgentTurn } from '../agent/agent.ts';
import { ContextEnded } from '../time/context-ended.ts';

/** Maximum size of the state that a runtime keeps, in bytes of JSON. */
const STATE_BYTES = 8_192;

/** The state that a runtime keeps in a session, as one run reads and changes it. */
export class RunState {
  readonly #before: unknown;
  #changed: { value: unknown } | null = null;

  /** @param before the state that an earlier run of the same principal has set; null if there is none. */
  constructor(before: unknown) {
    this.#before = before;
  }

  /** The new state; null if the run did not change it. */
  get changed(): { value: unknown } | null {
    return this.#changed;
  }

  /** @param signal aborts when the run ends. */
  forRun(signal: AbortSignal): AgentTurn['state'] {
    return Object.freeze({
      value: this.#before,
      set: (value: unknown) => {
        if (signal.aborted) throw ContextEnded.ofRun();
        this.#changed = { value: copyOf(value) };
      },
    });
  }
}

/** A copy, so that a runtime cannot change the state after its size was checked. */
function copyOf(value: unknown): unknown {
  const json = JSON.stringify(value);
  if (json === undefined) throw new TypeError('the state of a runtime must be a JSON value; null deletes it');
  const bytes = Buffer.byteLength(json);
  if (bytes > STATE_BYTES)
    throw new RangeError(
      `the state of a runtime may have ${STATE_BYTES} bytes of JSON, and this one has ${bytes}`,
    );
  return JSON.parse(json);
}
