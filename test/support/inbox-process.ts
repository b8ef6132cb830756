import { join } from 'node:path';
import type { AgentRuntime } from '../../src/agent/index.ts';
import { deliver } from '../../src/channel/conformance/open-channel.ts';
import type { Channel, SimulatedEvent } from '../../src/channel/index.ts';
import { createPushScope } from '../../src/daemon/channels/scope.ts';
import { InboxWorker } from '../../src/daemon/inbox/work.ts';
import { openSqliteStore } from '../../src/daemon/store/kernels/sqlite/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import type { StreamServices } from '../../src/daemon/stream/stream-services.ts';
import type { ToolSource } from '../../src/daemon/tools/tool.ts';
import type { LogLine } from './log-lines.ts';
import { type TestServices, testServices } from './services.ts';
import type { VirtualClock } from './virtual-clock.ts';
import type { VirtualPlatform } from './virtual-platform.ts';

/** Ports of the store. Their calls never return after the process has died. */
const MORTAL = ['inbox', 'links', 'outages', 'sessions', 'traces', 'waitingQuestions'] as const;
/**
 * Calls that only read, or only renew a claim. They are not counted as writes: a process that dies at one of them has
 * done no more than a process that dies after the previous write.
 */
const READS = [
  ...['find', 'findByAlias', 'get', 'history', 'list', 'nextDueAt', 'ofTurn', 'partsSent'],
  ...['renew', 'search'],
];
/** Maximum step of the clock, ms. */
const STEP_MS = 60 * 60 * 1000;

export interface InboxProcessOptions {
  directory: string;
  clock: VirtualClock;
  platforms: readonly VirtualPlatform[];
  agent: AgentRuntime;
  tools?: ToolSource;
  /** Whether events of groups are delivered. */
  inGroups?: boolean;
  env?: Readonly<Record<string, string>>;
}

/**
 * The daemon's inbox with all steps of a message, the real channels and a real database on disk, in this process and on
 * a virtual clock. A test can kill it: nothing that it has begun then continues, and another InboxProcess can take
 * over.
 */
export class InboxProcess {
  readonly services: StreamServices;
  readonly worker: InboxWorker;
  readonly log: readonly LogLine[];
  readonly #store: Store;
  readonly #clock: VirtualClock;
  readonly #stopping: AbortController;
  readonly #channels = new Map<string, { platform: VirtualPlatform; channel: Channel }>();
  readonly #life: Life;

  private constructor(
    { platforms, clock }: InboxProcessOptions,
    { services, configuration, lines, stopping }: TestServices,
    store: Store,
    life: Life,
  ) {
    this.services = services;
    this.log = lines;
    this.#clock = clock;
    this.#store = store;
    this.#stopping = stopping;
    this.#life = life;
    this.worker = new InboxWorker(this.services);
    for (const { plugin, settings: own } of configuration.channels) {
      const platform = platforms.find((one) => one.plugin.name === plugin.name);
      if (!platform || plugin.delivery !== 'push') continue;
      const scope = createPushScope(plugin, own, { services: this.services, worker: this.worker });
      const fetch: typeof globalThis.fetch = (...call) => this.#life.lasting(() => platform.fetch(...call));
      // The simulators sign with the system time, so the channels must check signatures with it.
      const channel = plugin.create({ ...scope, fetch, now: () => Date.now() });
      this.worker.add(plugin, channel);
      this.#channels.set(plugin.name, { platform, channel });
    }
  }

  static async start(options: InboxProcessOptions): Promise<InboxProcess> {
    const names = options.platforms.map(({ plugin }) => plugin.name);
    const env = {
      ...Object.assign({}, ...options.platforms.map((platform) => platform.env)),
      MESSAGING_PLATFORMS: names.join(','),
      ...options.env,
    } as Record<string, string>;
    const { clock, agent, directory, tools } = options;
    const path = join(directory, 'agentd.db');
    const own = openSqliteStore(path, { role: 'daemon', clock, traceRetentionMs: 86_400_000 });
    const life = new Life();
    const made = await testServices({ store: life.of(own), clock, agent, env, ...(tools && { tools }) });
    const process = new InboxProcess(options, made, own, life);
    // A channel may have to learn its own name before it reads messages of groups.
    for (const { channel } of process.#channels.values()) if (options.inGroups) await channel.start?.();
    await process.#life.orDeath(process.worker.start());
    return process;
  }

  /** Delivers an event like the platform. Rejects if the daemon refuses it; resolves even if the process has died. */
  async deliver(name: string, event: SimulatedEvent): Promise<void> {
    const found = this.#channels.get(name);
    if (!found) throw new Error(`no channel ${name}`);
    const answered = deliver(found.channel, found.platform.delivery(event));
    await this.#life.orDeath(
      answered.then(({ status = 200 }) => {
        if (status !== 200) throw new Error(`answered ${status}`);
      }),
    );
  }

  /** Resolves when nothing more is due at the current time, or when the process has died. */
  async idle(): Promise<void> {
    await this.#life.orDeath(this.worker.idle());
  }

  /** Moves the clock to this time, in steps from one due time to the next. */
  async passUntil(end: number): Promise<void> {
    await this.idle();
    while (this.#clock.now() < end && !this.#life.isOver) {
      const now = this.#clock.now();
      const due = (await this.#nextDueAt()) ?? Number.POSITIVE_INFINITY;
      this.#clock.moveTo(Math.min(end, Math.max(due, now + 1), now + STEP_MS));
      await this.idle();
    }
  }

  /**
   * Makes the process die at this write to the store, counted from now on. It dies before the write is carried out, or
   * after the write but before it knows the outcome.
   */
  dieAt(call: number, when: 'before' | 'after'): void {
    this.#life.endAt(call, when);
  }

  get isDead(): boolean {
    return this.#life.isOver;
  }

  /** Ends the process like SIGKILL: nothing that it has begun continues. */
  async kill(): Promise<void> {
    this.#life.end();
    for (const { channel } of this.#channels.values()) await channel.stop?.();
    await this.#store.close();
  }

  /** Ends the process as SIGTERM does after the grace period: runs are aborted, and their attempts do not count. */
  async stop(): Promise<void> {
    this.worker.pause();
    this.#stopping.abort(new Error('the daemon is stopping'));
    await this.worker.stop();
    await this.#store.close();
  }

  async #nextDueAt(): Promise<number | null> {
    const { inbox, outages } = this.#store;
    const names = [...this.#channels.keys()];
    const probes = new Map((await outages.list()).map(({ platform, probe_at }) => [platform, probe_at]));
    const sends = names.map(async (name) => {
      const due = await inbox.nextDueAt('send', [name]);
      return due === null ? null : Math.max(due, probes.get(name) ?? 0);
    });
    const times = (await Promise.all([inbox.nextDueAt('run', names), ...sends])).filter(
      (time) => time !== null,
    );
    return times.length === 0 ? null : Math.min(...times);
  }
}

/** The lifetime of a process. After it has ended, the calls of the process are never answered. */
class Life {
  readonly #death = Promise.withResolvers<void>();
  #calls = 0;
  #last: { call: number; when: 'before' | 'after' } | null = null;
  isOver = false;

  end(): void {
    this.isOver = true;
    this.#death.resolve();
  }

  endAt(call: number, when: 'before' | 'after'): void {
    this.#calls = 0;
    this.#last = { call, when };
  }

  async orDeath(work: Promise<unknown>): Promise<void> {
    await Promise.race([work, this.#death.promise]);
  }

  async lasting<T>(work: () => Promise<T> | T): Promise<T> {
    if (this.isOver) return NEVER;
    const result = await work();
    return this.isOver ? NEVER : result;
  }

  /** Wraps the store so that its calls are never answered after the end of this lifetime. */
  of(store: Store): Store {
    const mortal = Object.fromEntries(MORTAL.map((name) => [name, this.#port(store[name])]));
    const commitTurn: Store['commitTurn'] = (...args) =>
      this.#call(() => store.commitTurn(...args)) as ReturnType<Store['commitTurn']>;
    const beginTurn: Store['beginTurn'] = (...args) =>
      this.#call(() => store.beginTurn(...args)) as ReturnType<Store['beginTurn']>;
    return { ...store, ...mortal, beginTurn, commitTurn };
  }

  #port(port: object): object {
    return new Proxy(port, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as unknown;
        if (typeof method !== 'function') return method;
        const isRead = READS.includes(String(name));
        return (...args: unknown[]) => {
          const work = () => method.apply(target, args) as Promise<unknown>;
          return isRead ? this.lasting(work) : this.#call(work);
        };
      },
    });
  }

  #call(work: () => Promise<unknown>): Promise<unknown> {
    this.#calls++;
    const isLast = this.#calls === this.#last?.call;
    if (isLast && this.#last?.when === 'before') this.end();
    return this.lasting(async () => {
      const result = await work();
      if (isLast) this.end();
      return result;
    });
  }
}

const NEVER = new Promise<never>(() => {});
