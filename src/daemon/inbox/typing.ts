import type { JsonObject } from '../../channel/index.ts';
import type { Log } from '../process/log.ts';
import { type AlarmClock, every } from '../time/clock.ts';
import { TimeLimit } from '../time/time-limit.ts';
import type { PushTarget } from './ask-channel.ts';

/** Maximum number of calls at the same time. */
const CALLS_MAX = 32;
/** How long a call may take, ms. After that, it is abandoned. */
const CALL_MS = 10_000;
/** How often the indicator is shown again, ms. Platforms hide it after some seconds. */
const AGAIN_MS = 5000;

/**
 * Shows on the platform that an answer is being written, until the reply is sent. Nothing depends on the indicator: the
 * calls are not awaited, their failures are logged at debug, and they are skipped if too many are under way.
 */
export class Typing {
  readonly #clock: AlarmClock;
  readonly #log: Log;
  #calls = 0;

  constructor(clock: AlarmClock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  show({ plugin, channel }: PushTarget, reply_to: JsonObject): void {
    if (!plugin.capabilities.typing || !channel.typing || this.#calls >= CALLS_MAX) return;
    this.#calls++;
    const limit = new TimeLimit(this.#clock, CALL_MS);
    const call = async () => channel.typing?.(reply_to);
    limit
      .within(call())
      .catch((error: unknown) =>
        this.#log.debug({ channel: plugin.name, err: error }, 'typing could not be shown'),
      )
      .finally(() => {
        limit.lift();
        this.#calls--;
      });
  }

  /** Shows the indicator now, and keeps showing it. @returns a function that ends it. */
  keepShowing(target: PushTarget, reply_to: JsonObject): () => void {
    this.show(target, reply_to);
    return every(this.#clock, AGAIN_MS, () => this.show(target, reply_to));
  }
}
