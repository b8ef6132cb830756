import type { AlarmClock } from '../clock.ts';
import type { MemoryOwner } from '../identity/memory-owner.ts';
import type { Log } from '../log.ts';
import { maskTokens } from '../secret.ts';
import type { Memory, MemoryStore } from '../store/memories.ts';
import { TimeLimit } from '../time-limit.ts';
import type { TraceWriter } from '../trace/trace.ts';
import type { AgentMemory } from './agent.ts';

/** How long a run waits for the memories that it is given, ms. */
export const GIVEN_WAIT_MS = 300;
/** How long a tool waits, ms. */
const TOOL_WAIT_MS = 5_000;
/** After a failure, runs begin without memories for this time, ms, so that an outage does not slow each of them. */
const PAUSE_MS = 5_000;

/** Memories that a run is given, at most. */
const GIVEN_MAX = 5;
/** What they may take of a model's window, in tokens, at about four bytes each. */
const GIVEN_TOKENS = 1_000;
const BYTES_PER_TOKEN = 4;

/** Longest memory, in characters (agentd-agent(7), "Memory"). */
export const MEMORY_CHARACTERS_MAX = 1_000;
/** Memories that one `recall` returns. */
const RECALLED_MAX = 20;
/** Memories that one `forget` deletes; a query that more of them match was not meant so. */
const FORGOTTEN_MAX = 20;

export interface MemoryServices {
  memories: MemoryStore;
  clock: AlarmClock;
  log: Pick<Log, 'info' | 'warn'>;
}

/** A run of the agent, as far as memory needs to know it. */
export interface RememberingRun {
  owner: MemoryOwner;
  turn_id: string;
  request_id: string;
  trace: TraceWriter;
  /** Aborts with the run. */
  signal: AbortSignal;
  /** Nothing of the run is stored any more: its person may have been erased. */
  isLost(): Promise<boolean>;
}

/** What came of a call of a memory tool. `unavailable`: the backend is down. */
export type MemoryAnswer<T> =
  | { outcome: 'done'; result: T }
  | { outcome: 'refused' | 'unavailable'; message: string };

/** Long-term memory for runs of the agent. An outage of the backend costs the memory, never the reply. */
export class LongTermMemory {
  readonly #services: MemoryServices;
  /** The last use failed. */
  #isDown = false;
  #isClosed = false;
  readonly #inUse = new Set<Promise<unknown>>();
  /** Until then, runs begin without memories. */
  #paused_until = Number.NEGATIVE_INFINITY;

  constructor(services: MemoryServices) {
    this.#services = services;
  }

  get description(): string {
    return this.#services.memories.description;
  }

  ofRun(run: RememberingRun): RunMemory {
    return new RunMemory(this, run);
  }

  get isPaused(): boolean {
    const { clock } = this.#services;
    return clock.now() < this.#paused_until;
  }

  /** At start: warns if the backend is down. */
  async check(): Promise<void> {
    await this.use((memories) => memories.check(), TOOL_WAIT_MS).catch(() => undefined);
  }

  /** Uses under way end first; later ones fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#inUse);
    await this.#services.memories.close();
  }

  /** Uses the backend, within a time. The begin and the end of an outage are logged, one line each. */
  async use<T>(
    work: (memories: MemoryStore) => Promise<T>,
    ms: number,
    { signal, request_id }: Partial<Pick<RememberingRun, 'signal' | 'request_id'>> = {},
  ): Promise<T> {
    const { memories, clock } = this.#services;
    if (this.#isClosed) throw new Error('long-term memory is closed');
    const limit = new TimeLimit(clock, ms, ...(signal ? [signal] : []));
    const working = work(memories);
    this.#inUse.add(working);
    try {
      const result = await limit.within(working);
      this.#noteUse();
      return result;
    } catch (error) {
      if (!signal?.aborted) this.#noteFailure(error, request_id);
      throw error;
    } finally {
      limit.lift();
      this.#inUse.delete(working);
    }
  }

  #noteUse(): void {
    if (!this.#isDown) return;
    this.#isDown = false;
    this.#paused_until = Number.NEGATIVE_INFINITY;
    this.#services.log.info({ memory: this.description }, 'long-term memory can be reached again');
  }

  #noteFailure(err: unknown, request_id: string | undefined): void {
    const { clock, log } = this.#services;
    this.#paused_until = clock.now() + PAUSE_MS;
    if (this.#isDown) return;
    this.#isDown = true;
    const about = { memory: this.description, ...(request_id === undefined ? {} : { request_id }), err };
    log.warn(about, 'long-term memory cannot be reached; messages are answered without it');
  }
}

/** The memories of whoever one run acts for. */
export class RunMemory {
  readonly #all: LongTermMemory;
  readonly #run: RememberingRun;
  /** Results from elsewhere than the API are in the run. */
  #tainted = false;
  #hasAdded = false;

  constructor(all: LongTermMemory, run: RememberingRun) {
    this.#all = all;
    this.#run = run;
  }

  /** The key of whose memories these are. */
  get owner(): string {
    return this.#run.owner.key;
  }

  /**
   * The memories that match a message best, for the run to begin with; never a tainted one. Empty if the backend is down
   * or slow. They count as used.
   */
  async given(text: string): Promise<AgentMemory[]> {
    const { owner, trace } = this.#run;
    const began_at = performance.now();
    const took_ms = () => Math.round(performance.now() - began_at);
    if (this.#all.isPaused) {
      trace.note({ step: 'memory', verdict: 'fallback', reason: 'memory_unavailable', took_ms: 0 });
      return [];
    }
    try {
      const query = { text, words: 'some', limit: GIVEN_MAX, untainted: true } as const;
      const found = await this.#use((memories) => memories.search(owner, query), GIVEN_WAIT_MS);
      const given = withinTokens(found);
      trace.note({ step: 'memory', verdict: 'ok', detail: { given: given.length }, took_ms: took_ms() });
      this.#noteUse(given);
      return given.map(shown);
    } catch {
      // Logged once for the outage.
      this.#run.signal.throwIfAborted();
      trace.note({ step: 'memory', verdict: 'fallback', reason: 'memory_unavailable', took_ms: took_ms() });
      return [];
    }
  }

  /**
   * To be called before a result of a tool whose source is foreign reaches the agent. What the run has stored by then
   * is marked too: it may have been stored beside the call.
   */
  async noteForeignResult(): Promise<void> {
    if (this.#tainted) return;
    this.#tainted = true;
    if (!this.#hasAdded) return;
    const { owner, turn_id } = this.#run;
    await this.#use((memories) => memories.taint(owner, turn_id), TOOL_WAIT_MS);
  }

  async remember(given: string): Promise<MemoryAnswer<AgentMemory>> {
    const text = maskTokens(withoutControls(given).trim());
    const length = [...text].length;
    if (length === 0) return refused('There is nothing to remember: the text is empty.');
    if (length > MEMORY_CHARACTERS_MAX) {
      return refused(
        `A memory has at most ${MEMORY_CHARACTERS_MAX} characters, and this text has ${length}. Nothing was remembered. Make it shorter, or remember several short texts.`,
      );
    }
    const { owner, turn_id } = this.#run;
    // If nobody can say it, the run will fail for that.
    if (await this.#run.isLost().catch(() => false))
      return refused('Nothing was remembered: the conversation goes on elsewhere, or has ended.');
    return this.#answer('Nothing was remembered', async (memories) => {
      this.#hasAdded = true;
      const memory = await memories.add(owner, { text, turn_id, tainted: this.#tainted });
      // A result may have arrived while it was stored.
      if (this.#tainted && !memory.tainted) await memories.taint(owner, turn_id);
      return done(shown(memory));
    });
  }

  /** Tainted memories are among them, and taint this run: what is remembered next may come from them. */
  async recall(query: string): Promise<MemoryAnswer<AgentMemory[]>> {
    const { owner } = this.#run;
    return this.#answer('Nothing was recalled', async (memories) => {
      const found =
        query.trim() === ''
          ? (await memories.list(owner)).slice(0, RECALLED_MAX)
          : await memories.search(owner, { text: query, words: 'some', limit: RECALLED_MAX });
      if (found.some(({ tainted }) => tainted)) await this.noteForeignResult();
      this.#noteUse(found);
      return done(found.map(shown));
    });
  }

  /** Deletes the memories that have every word of the query. If there is none, `similar` are those that come near. */
  async forget(query: string): Promise<MemoryAnswer<{ forgotten: AgentMemory[]; similar?: AgentMemory[] }>> {
    const { owner } = this.#run;
    return this.#answer('Nothing was forgotten', async (memories) => {
      const found = await memories.search(owner, { text: query, words: 'every', limit: FORGOTTEN_MAX + 1 });
      if (found.length > FORGOTTEN_MAX) {
        return refused(
          `More than ${FORGOTTEN_MAX} memories have these words. Nothing was forgotten. Use more words of what is to be forgotten.`,
        );
      }
      if (found.length === 0) {
        const similar = await memories.search(owner, { text: query, words: 'some', limit: GIVEN_MAX });
        if (similar.some(({ tainted }) => tainted)) await this.noteForeignResult();
        return done({ forgotten: [], similar: similar.map(shown) });
      }
      await memories.forget(
        owner,
        found.map(({ memory_id }) => memory_id),
      );
      return done({ forgotten: found.map(shown) });
    });
  }

  async #answer<T>(
    inVain: string,
    work: (memories: MemoryStore) => Promise<MemoryAnswer<T>>,
  ): Promise<MemoryAnswer<T>> {
    try {
      return await this.#use(work, TOOL_WAIT_MS);
    } catch {
      // Logged once for the outage.
      this.#run.signal.throwIfAborted();
      return {
        outcome: 'unavailable',
        message: `Memory cannot be reached at the moment. ${inVain}. Say so if it matters to the person.`,
      };
    }
  }

  /** Nobody waits for it. A failure is noted, and the next use tells more. */
  #noteUse(used: readonly Memory[]): void {
    if (used.length === 0) return;
    const { owner } = this.#run;
    const ids = used.map(({ memory_id }) => memory_id);
    this.#use((memories) => memories.use(owner, ids), TOOL_WAIT_MS).catch(() => undefined);
  }

  #use<T>(work: (memories: MemoryStore) => Promise<T>, ms: number): Promise<T> {
    return this.#all.use(work, ms, this.#run);
  }
}

function done<T>(result: T): MemoryAnswer<T> {
  return { outcome: 'done', result };
}

function refused<T>(message: string): MemoryAnswer<T> {
  return { outcome: 'refused', message };
}

/** The best ones that fit together. */
function withinTokens(found: readonly Memory[]): Memory[] {
  let room = GIVEN_TOKENS * BYTES_PER_TOKEN;
  return found.filter(({ text }) => {
    const bytes = Buffer.byteLength(text);
    if (bytes > room) return false;
    room -= bytes;
    return true;
  });
}

function shown({ text, created_at, tainted }: Memory): AgentMemory {
  const date = new Date(created_at).toISOString().slice(0, 10);
  return { text, date, ...(tainted ? { from_elsewhere: true as const } : {}) };
}

/** Line breaks and tabs stay. Postgres stores no NUL, and no half of a surrogate pair. */
function withoutControls(text: string): string {
  return text.toWellFormed().replace(/[^\P{Cc}\n\t]/gu, '');
}
