import type { AgentMemory } from '../../agent/index.ts';
import { StoreUnavailable } from '../errors.ts';
import type { MemoryOwner } from '../identity/identity.ts';
import type { Log } from '../process/log.ts';
import { maskTokens } from '../settings/secret.ts';
import type { Memory, MemoryStore } from '../store/memories/memories.ts';
import type { AlarmClock } from '../time/clock.ts';
import { type Cancellation, TimeLimit } from '../time/time-limit.ts';
import type { TraceWriter } from '../trace/trace.ts';
import type { RunTaint } from './context.ts';
import { estimateTokens } from './model-meter.ts';

/** How long a run waits for memories at its start, ms. */
export const GIVEN_WAIT_MS = 300;
/**
 * How long a memory tool waits for the backend, ms. With the wait at the start of the run, an outage delays a message by
 * at most one second.
 */
export const TOOL_WAIT_MS = 700;
/** How long a check waits for the backend, ms. */
const CHECK_WAIT_MS = 5_000;
/** After a failure, runs do not ask the backend for this time, ms, so that an outage does not slow down each run. */
const PAUSE_MS = 5_000;

const PAUSED = new Error('long-term memory failed a moment ago');

/** Maximum number of memories that a run is given at its start. */
const GIVEN_MAX = 5;
/** Maximum size of these memories together, in tokens. */
const GIVEN_TOKENS = 1_000;

/** Longest memory, in characters (agentd-agent(7), "Memory"). */
export const MEMORY_CHARACTERS_MAX = 1_000;
/** Maximum number of memories that one `recall` returns. */
const RECALLED_MAX = 20;
/** Maximum number of memories that one `forget` deletes. A query that matches more of them is probably a mistake. */
const FORGOTTEN_MAX = 20;

const LOST = 'Nothing was remembered: the conversation continues elsewhere, or has ended.';

interface MemoryServices {
  memories: MemoryStore;
  clock: AlarmClock;
  log: Pick<Log, 'info' | 'warn'>;
}

/** A run of the agent, as far as memory needs to know it. */
interface RememberingRun {
  owner: MemoryOwner;
  turn_id: string;
  request_id: string;
  trace: TraceWriter;
  /** Ends with the run. */
  limit: Cancellation;
  taint: RunTaint;
  /** Whether the run may no longer store anything, for example because its person was erased. */
  isLost(): Promise<boolean>;
}

/** The result of a call of a memory tool. `unavailable`: the backend failed, or did not answer in time. */
export type MemoryAnswer<T> =
  | { outcome: 'done'; result: T }
  | { outcome: 'refused' | 'unavailable'; message: string };

/**
 * Long-term memory for runs of the agent. During an outage of the backend, runs have no memories, but messages are
 * still answered.
 */
export class LongTermMemory {
  readonly #services: MemoryServices;
  /** Whether the last use failed. */
  #isDown = false;
  #isChecking = false;
  #isClosed = false;
  readonly #inUse = new Set<Promise<unknown>>();
  /** The time until which runs begin without memories. */
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

  /** Called when the daemon starts. Logs a warning if the backend is down. */
  async check(): Promise<void> {
    if (this.#isChecking || this.#isClosed) return;
    this.#isChecking = true;
    // The failure is logged, once for the outage.
    await this.use((memories) => memories.check(), CHECK_WAIT_MS).catch(() => undefined);
    this.#isChecking = false;
  }

  /** Whether the last use succeeded. */
  get isAvailable(): boolean {
    return !this.#isDown;
  }

  /** Waits until current uses have ended, then closes the backend. Later uses fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#inUse);
    await this.#services.memories.close();
  }

  /** Uses the backend, within a time limit. The beginning and the end of an outage are logged, one line each. */
  async use<T>(
    work: (memories: MemoryStore) => Promise<T>,
    ms: number,
    { limit: run, request_id }: Partial<Pick<RememberingRun, 'limit' | 'request_id'>> = {},
  ): Promise<T> {
    const { memories, clock } = this.#services;
    if (this.#isClosed) throw new Error('long-term memory is closed');
    const limit = new TimeLimit(clock, ms, run ? [run] : []);
    const working = work(memories);
    this.#inUse.add(working);
    try {
      const result = await limit.within(working);
      this.#noteUse();
      return result;
    } catch (error) {
      if (!run?.hasEnded) this.#noteFailure(error, request_id);
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

/** The memories of the owner for whom one run acts. */
export class RunMemory {
  readonly #all: LongTermMemory;
  readonly #run: RememberingRun;
  /** Whether a use of this run failed. The run then does not use the backend again. */
  #hasFailed = false;
  /** Whether the run has stored memories that are not marked as tainted. */
  #hasUnmarked = false;

  constructor(all: LongTermMemory, run: RememberingRun) {
    this.#all = all;
    this.#run = run;
    run.taint.whenMarked(() => this.#markStored());
  }

  /** The key of the owner of these memories. */
  get owner(): string {
    return this.#run.owner.key;
  }

  /**
   * The memories that match a message best, given to the run at its start. The result contains no tainted memories, and
   * is empty if the backend is down or slow. The returned memories count as used.
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
      return given.map(showMemory);
    } catch {
      // The failure was already logged, once for the outage.
      this.#run.limit.throwIfEnded();
      trace.note({ step: 'memory', verdict: 'fallback', reason: 'memory_unavailable', took_ms: took_ms() });
      return [];
    }
  }

  /** Marks the memories that the run stored before it was tainted: they may have been stored at the same time. */
  async #markStored(): Promise<void> {
    if (!this.#hasUnmarked) return;
    const { owner, turn_id } = this.#run;
    // Not `#use`: the run cannot go on without the mark, so a failure of another use does not stop it.
    await this.#all.use((memories) => memories.taint(owner, turn_id), TOOL_WAIT_MS, this.#run);
    this.#hasUnmarked = false;
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
    const { owner, turn_id, taint } = this.#run;
    if (await this.#isLost()) return refused(LOST);
    return this.#answer('remembered', async (memories) => {
      this.#hasUnmarked ||= !taint.isTainted;
      const memory = await memories.add(owner, { text, turn_id, tainted: taint.isTainted });
      // The person may have been erased while the memory was being stored.
      if (await this.#isLost()) {
        await memories.forget(owner, [memory.memory_id]);
        return refused(LOST);
      }
      // A foreign result may have arrived while the memory was being stored.
      if (taint.isTainted && !memory.tainted) await memories.taint(owner, turn_id);
      return done(showMemory(memory));
    });
  }

  /** If this cannot be determined, the run itself will fail for that reason. */
  #isLost(): Promise<boolean> {
    return this.#run.isLost().catch(() => false);
  }

  async recall(query: string): Promise<MemoryAnswer<AgentMemory[]>> {
    const { owner } = this.#run;
    return this.#answer('recalled', async (memories) => {
      const found =
        query.trim() === ''
          ? (await memories.list(owner)).slice(0, RECALLED_MAX)
          : await memories.search(owner, { text: query, words: 'some', limit: RECALLED_MAX });
      const recalled = await this.#shownAll(found);
      this.#noteUse(found);
      return done(recalled);
    });
  }

  /**
   * Deletes the memories that contain every word of the query. If there is none, `similar` has memories that nearly
   * match.
   */
  async forget(query: string): Promise<MemoryAnswer<{ forgotten: AgentMemory[]; similar?: AgentMemory[] }>> {
    const { owner } = this.#run;
    return this.#answer('forgotten', async (memories) => {
      const found = await memories.search(owner, { text: query, words: 'every', limit: FORGOTTEN_MAX + 1 });
      if (found.length > FORGOTTEN_MAX) {
        return refused(
          `More than ${FORGOTTEN_MAX} memories have these words. Nothing was forgotten. Use more words of the memory that should be forgotten.`,
        );
      }
      if (found.length === 0) {
        const similar = await memories.search(owner, { text: query, words: 'some', limit: GIVEN_MAX });
        return done({ forgotten: [], similar: await this.#shownAll(similar) });
      }
      const forgotten = await this.#shownAll(found);
      await memories.forget(
        owner,
        found.map(({ memory_id }) => memory_id),
      );
      return done({ forgotten });
    });
  }

  /**
   * The memories as the agent gets them. Tainted ones taint the run, because what it stores later may be based on them.
   */
  async #shownAll(memories: readonly Memory[]): Promise<AgentMemory[]> {
    if (memories.some(({ tainted }) => tainted)) await this.#run.taint.mark();
    return memories.map(showMemory);
  }

  async #answer<T>(
    aim: 'remembered' | 'recalled' | 'forgotten',
    work: (memories: MemoryStore) => Promise<MemoryAnswer<T>>,
  ): Promise<MemoryAnswer<T>> {
    try {
      return await this.#use(work, TOOL_WAIT_MS);
    } catch (error) {
      // The failure was already logged, once for the outage.
      this.#run.limit.throwIfEnded();
      // A change that took too long goes on.
      const mayHappen = aim !== 'recalled' && (error as Error).name === 'TimeoutError';
      const outcome = mayHappen ? `It is not known whether this was ${aim}` : `Nothing was ${aim}`;
      return {
        outcome: 'unavailable',
        message: `Memory cannot be reached at the moment. ${outcome}. Say so if it matters to the person.`,
      };
    }
  }

  /** Runs in the background. A failure is ignored here: if the backend is down, the next use notices it. */
  #noteUse(used: readonly Memory[]): void {
    if (used.length === 0) return;
    const { owner } = this.#run;
    const ids = used.map(({ memory_id }) => memory_id);
    this.#use((memories) => memories.use(owner, ids), TOOL_WAIT_MS).catch(() => undefined);
  }

  async #use<T>(work: (memories: MemoryStore) => Promise<T>, ms: number): Promise<T> {
    if (this.#hasFailed || this.#all.isPaused) throw new StoreUnavailable(PAUSED);
    try {
      return await this.#all.use(work, ms, this.#run);
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    }
  }
}

function done<T>(result: T): MemoryAnswer<T> {
  return { outcome: 'done', result };
}

function refused<T>(message: string): MemoryAnswer<T> {
  return { outcome: 'refused', message };
}

/** The best memories that fit into GIVEN_TOKENS together. */
function withinTokens(found: readonly Memory[]): Memory[] {
  let room = GIVEN_TOKENS;
  return found.filter(({ text }) => {
    const tokens = estimateTokens(text);
    if (tokens > room) return false;
    room -= tokens;
    return true;
  });
}

function showMemory({ text, created_at, tainted }: Memory): AgentMemory {
  const date = new Date(created_at).toISOString().slice(0, 10);
  return { text, date, ...(tainted ? { from_elsewhere: true as const } : {}) };
}

/** Line breaks and tabs are kept. Postgres stores neither NUL nor unpaired surrogates. */
function withoutControls(text: string): string {
  return text.toWellFormed().replace(/[^\P{Cc}\n\t]/gu, '');
}
