import type { AlarmClock } from '../../time/clock.ts';
import { unlessAborted } from '../../time/time-limit.ts';
import type { McpConnection } from './connection.ts';
import { McpFailure } from './failure.ts';

/** Maximum number of connections of one source; `MAX_OF_ONE` is the maximum for one credential. */
const MAX_CONNECTIONS = 64;
const MAX_OF_ONE = 4;
/** How long a connection that nobody uses is kept, ms. */
const IDLE_MS = 60_000;

/** The credential that a connection carries, and the `fetch` that sends it. */
interface Carrier {
  readonly identity: string;
  readonly fetch: typeof globalThis.fetch;
}

/** A connection whose requests carry one credential. */
interface CarryingConnection extends McpConnection {
  /** Uses this `fetch` for the requests of the next call. */
  carry(fetch: Carrier['fetch']): void;
}

interface Pooled {
  readonly identity: string;
  /** Null while the connection is being opened. */
  connection: CarryingConnection | null;
  busy: boolean;
  cancelIdle: () => void;
}

interface ConnectionPoolOptions {
  open(fetch: Carrier['fetch'], signal: AbortSignal): Promise<CarryingConnection>;
  clock: AlarmClock;
}

/**
 * The connections that carry a credential. A connection has one credential for its whole life, and serves one call at a
 * time, so that no answer can reach another call. If a call fails, its connection is closed.
 */
export class ConnectionPool {
  readonly #open: ConnectionPoolOptions['open'];
  readonly #clock: AlarmClock;
  readonly #pooled = new Set<Pooled>();
  /** Resolves when the next connection is returned or closed. */
  #given = Promise.withResolvers<void>();
  readonly #closing = new Set<Promise<void>>();
  #stopped = false;

  constructor({ open, clock }: ConnectionPoolOptions) {
    this.#open = open;
    this.#clock = clock;
  }

  /** Does the work of one call on a connection with the call's credential. */
  async use<T>(
    carrier: Carrier,
    signal: AbortSignal,
    work: (connection: McpConnection) => Promise<T>,
  ): Promise<T> {
    const pooled = await this.#take(carrier, signal);
    try {
      const connection = pooled.connection ?? (await this.#open(carrier.fetch, signal));
      pooled.connection = connection;
      if (!this.#pooled.has(pooled)) {
        await connection.close();
        throw stopping();
      }
      connection.carry(carrier.fetch);
      const result = await work(connection);
      this.#giveBack(pooled);
      return result;
    } catch (error) {
      this.#discard(pooled);
      throw error;
    }
  }

  /** Closes every connection. Calls in progress fail. */
  async close(): Promise<void> {
    this.#stopped = true;
    for (const pooled of this.#pooled) this.#discard(pooled);
    await Promise.all(this.#closing);
  }

  async #take({ identity }: Carrier, signal: AbortSignal): Promise<Pooled> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#stopped) throw stopping();
      const own = [...this.#pooled].filter((pooled) => pooled.identity === identity);
      const idle = own.find(isIdle);
      if (idle) return take(idle);
      if (own.length < MAX_OF_ONE) {
        // Makes room for the first connection of a credential by closing an idle connection of another credential. A
        // credential that has a connection already can wait for it.
        if (this.#pooled.size >= MAX_CONNECTIONS && own.length === 0) this.#discardIdle();
        if (this.#pooled.size < MAX_CONNECTIONS) {
          const opened: Pooled = { identity, connection: null, busy: true, cancelIdle: () => {} };
          this.#pooled.add(opened);
          return opened;
        }
      }
      await unlessAborted(this.#given.promise, signal);
    }
  }

  /** Closes the connection that has been idle longest. */
  #discardIdle(): void {
    const idle = [...this.#pooled].find(isIdle);
    if (idle) this.#discard(idle);
  }

  #giveBack(pooled: Pooled): void {
    if (this.#stopped || pooled.connection?.ended.aborted) {
      this.#discard(pooled);
      return;
    }
    pooled.busy = false;
    pooled.cancelIdle = this.#clock.after(IDLE_MS, () => this.#discard(pooled));
    // The connection is moved to the end of the set, so that the first idle connection has been idle longest.
    this.#pooled.delete(pooled);
    this.#pooled.add(pooled);
    this.#wakeAll();
  }

  #discard(pooled: Pooled): void {
    if (!this.#pooled.delete(pooled)) return;
    pooled.cancelIdle();
    if (pooled.connection) {
      const closing = pooled.connection.close().finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
    this.#wakeAll();
  }

  #wakeAll(): void {
    this.#given.resolve();
    this.#given = Promise.withResolvers();
  }
}

function stopping(): McpFailure {
  return new McpFailure('mcp_ended', 'The service is stopping.');
}

function isIdle({ busy, connection }: Pooled): boolean {
  return !busy && connection !== null && !connection.ended.aborted;
}

function take(pooled: Pooled): Pooled {
  pooled.busy = true;
  pooled.cancelIdle();
  return pooled;
}
