import type { Log } from '../../process/log.ts';
import { type AlarmClock, every, wait } from '../../time/clock.ts';
import { backOff } from '../../time/retry.ts';
import { TimeLimit, unlessAborted, within } from '../../time/time-limit.ts';
import type { McpConnection, McpTool } from './connection.ts';
import { McpFailure } from './failure.ts';

/** How long the start of the daemon waits for a server, ms. */
const FIRST_ATTEMPT_MS = 5_000;
/** How long a call waits for the next connection after the last connection was lost, ms. */
const RECONNECT_MS = 5_000;
/** How long a call waits until changed tools are listed, ms. */
const LISTING_MS = 5_000;
/** The longest wait between two attempts to reach the server, ms. */
const LONGEST_WAIT_MS = 60_000;
/** How long a connection must last before the back-off starts again with the shortest wait, ms. */
const LASTING_MS = 60_000;
/** How often the tools are listed again without a notification, ms. Some servers cannot report changes. */
const LOOK_AGAIN_MS = 300_000;
/** The shortest time between two listings, ms. */
const LOOK_PAUSE_MS = 1_000;

interface ServerLinkOptions {
  open(hooks: { signal: AbortSignal; toolsChanged: () => void }): Promise<McpConnection>;
  /** Called with the current tools. When it has resolved, the connection is used for calls. */
  listed(tools: readonly McpTool[]): Promise<void>;
  clock: AlarmClock;
  log: Pick<Log, 'info' | 'warn' | 'debug'>;
}

/**
 * The connection on which the tools of a server are listed, without a person's credential. When it ends, it is opened
 * again with back-off. The tools are listed after the connection is opened, when the server reports a change, and at
 * intervals.
 */
export class ServerLink {
  readonly #options: ServerLinkOptions;
  readonly #stopping = new AbortController();
  #connection: McpConnection | null = null;
  #failure: unknown = new McpFailure('mcp_unreachable', 'The server has not been reached yet.');
  #work: Promise<void> = Promise.resolve();
  /** When the last connection ended, ms since the epoch. */
  #lost_at = Number.NEGATIVE_INFINITY;
  /** Resolves when there is a usable connection. */
  #usable = Promise.withResolvers<void>();
  #isDue = false;
  /** How many times the tools may have changed since the start. */
  #changes = 0;
  /** How many of these changes the last listing includes. */
  #changesListed = 0;
  /** Resolves with the next listing. */
  #listing = Promise.withResolvers<void>();
  #wake: () => void = () => {};

  constructor(options: ServerLinkOptions) {
    this.#options = options;
  }

  /** Resolves after the first attempt to connect, successful or not, or after `FIRST_ATTEMPT_MS`. */
  async start(): Promise<void> {
    const attempted = Promise.withResolvers<void>();
    this.#work = this.#keepOpen(attempted.resolve);
    await within(attempted.promise, FIRST_ATTEMPT_MS, () => undefined, this.#options.clock);
  }

  /**
   * The connection for calls. If it was lost a moment ago, waits for the next connection. If there is none, rejects
   * with the reason.
   */
  async connection(signal: AbortSignal): Promise<McpConnection> {
    const { clock } = this.#options;
    const left = this.#lost_at + RECONNECT_MS - clock.now();
    if (this.#connection === null && left > 0) {
      const limit = new TimeLimit(clock, left, [signal]);
      try {
        await limit.within(this.#usable.promise);
      } catch {
        signal.throwIfAborted();
      } finally {
        limit.lift();
      }
    }
    if (this.#connection === null) throw this.#failure;
    return this.#connection;
  }

  /**
   * Waits until a listing includes every change that is known now, so that no call reaches a tool whose definition was
   * not checked. If the connection ends first, the next connection begins with a listing.
   * @param signals abort the wait, which then rejects with the reason of the aborted signal.
   * @returns false if the listing takes too long.
   */
  async isCurrent(signals: readonly AbortSignal[]): Promise<boolean> {
    const changes = this.#changes;
    if (this.#changesListed >= changes) return true;
    const limit = new TimeLimit(this.#options.clock, LISTING_MS, signals);
    try {
      while (this.#changesListed < changes) await limit.within(this.#listing.promise);
      return true;
    } catch {
      for (const signal of signals) signal.throwIfAborted();
      return false;
    } finally {
      limit.lift();
    }
  }

  /** Why there is no connection; null if there is one. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Records that the tools may have changed: they are listed again soon, and calls wait for the listing. */
  noteChange(): void {
    this.#changes++;
    this.lookAgain();
  }

  /** Causes the tools to be listed again soon. */
  lookAgain(): void {
    this.#isDue = true;
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new McpFailure('mcp_ended', 'The service is stopping.'));
    await this.#work;
  }

  async #keepOpen(attempted: () => void): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stopping;
    let isKnown = false;
    for (let attempts = 1; ; attempts++) {
      const began_at = clock.now();
      try {
        await this.#useConnection(() => {
          if (isKnown) log.info({}, 'the MCP server can be used again');
          isKnown = false;
          attempted();
        });
      } catch (error) {
        if (signal.aborted) return;
        this.#failure = error;
        if (clock.now() - began_at >= LASTING_MS) attempts = 1;
        const words = 'the MCP server cannot be used; trying again';
        if (isKnown) log.debug({ err: error, attempts }, words);
        else log.warn({ err: error }, words);
        isKnown = true;
      }
      attempted();
      try {
        await wait(clock, backOff(attempts, LONGEST_WAIT_MS), signal);
      } catch {
        return;
      }
    }
  }

  /** Opens a connection, and lists the tools repeatedly until the connection ends. Always rejects, with the reason. */
  async #useConnection(usable: () => void): Promise<never> {
    const { open, listed, clock } = this.#options;
    const connection = await open({
      signal: this.#stopping.signal,
      toolsChanged: () => this.noteChange(),
    });
    const over = AbortSignal.any([this.#stopping.signal, connection.ended]);
    const stopLooking = every(clock, LOOK_AGAIN_MS, () => this.lookAgain());
    try {
      for (;;) {
        this.#isDue = false;
        const changes = this.#changes;
        await listed(await connection.listTools(over));
        over.throwIfAborted();
        this.#noteListing(changes);
        this.#connection = connection;
        this.#failure = null;
        this.#usable.resolve();
        usable();
        await wait(clock, LOOK_PAUSE_MS, over);
        await this.#due(over);
      }
    } finally {
      if (this.#connection !== null) {
        this.#lost_at = clock.now();
        this.#usable = Promise.withResolvers();
      }
      this.#connection = null;
      await stopLooking();
      await connection.close();
    }
  }

  #noteListing(changes: number): void {
    this.#changesListed = changes;
    this.#listing.resolve();
    this.#listing = Promise.withResolvers();
  }

  /** Resolves when it is time to list the tools again. Rejects when the connection has ended. */
  async #due(over: AbortSignal): Promise<void> {
    if (this.#isDue) return;
    over.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    await unlessAborted(promise, over);
  }
}
