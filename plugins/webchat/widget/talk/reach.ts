/**
 * How long to wait between probes while the service is unreachable, in ms. The first wait is doubled each time, up to
 * the maximum.
 */
const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 30_000;
/** How often the service is probed while the chat is open and idle, in ms. */
const IDLE_MS = 60_000;

/** Remembers whether the service can be reached. Probes it while it cannot be reached, and while the chat is open. */
export class Reach {
  #away = false;
  #watched = false;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #isReachable: () => Promise<boolean>;
  readonly #changed: (away: boolean) => void;

  constructor(isReachable: () => Promise<boolean>, changed: (away: boolean) => void) {
    this.#isReachable = isReachable;
    this.#changed = changed;
  }

  get away(): boolean {
    return this.#away;
  }

  /** Set to true while the chat is open: the service is then probed at once, and after that once a minute. */
  set watched(watched: boolean) {
    this.#watched = watched;
    if (watched) void this.look();
    else this.#plan();
  }

  /**
   * Call this if a message got no response.
   * @param notBefore minimum wait before the next probe, in ms
   */
  lost(notBefore = 0): void {
    this.#tell(true);
    this.#plan(notBefore);
  }

  /** Call this when the service has answered a message. */
  found(): void {
    this.#failures = 0;
    this.#tell(false);
    this.#plan();
  }

  /** Probes now, because the chat was opened or the device is connected again. */
  async look(): Promise<void> {
    this.#tell(!(await this.#isReachable()));
    this.#plan();
  }

  #plan(notBefore = 0): void {
    clearTimeout(this.#timer);
    if (!this.#away && !this.#watched) return;
    // Waits are randomized, so that many widgets do not reconnect at the same moment.
    const wait = this.#away
      ? Math.min(FIRST_WAIT_MS * 2 ** this.#failures++, MAX_WAIT_MS) * (0.8 + 0.4 * Math.random())
      : IDLE_MS;
    this.#timer = setTimeout(() => void this.look(), Math.max(wait, notBefore));
  }

  #tell(away: boolean): void {
    if (away === this.#away) return;
    this.#away = away;
    this.#changed(away);
  }
}
