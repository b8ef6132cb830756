import { setMaxListeners } from 'node:events';
import type { PushScope, ResponseScope, StreamScope } from '../../src/channel/index.ts';
import { ONLY_AGENT } from '../../src/daemon/agents/agent-entry.ts';
import { Agents } from '../../src/daemon/agents/agents.ts';
import { createPushScope, createResponseScope, createStreamScope } from '../../src/daemon/channels/scope.ts';
import { createServices } from '../../src/daemon/create-services.ts';
import { AgentdError } from '../../src/daemon/errors.ts';
import { NO_MARKS } from '../../src/daemon/identity/identity.ts';
import { InboxWorker } from '../../src/daemon/inbox/work.ts';
import { UseCount } from '../../src/daemon/message/waits/use-count.ts';
import { Lifecycle } from '../../src/daemon/process/lifecycle.ts';
import type { Log } from '../../src/daemon/process/log.ts';
import { startReaper } from '../../src/daemon/stream/run-stream.ts';
import type { StreamServices } from '../../src/daemon/stream/stream-services.ts';
import { Texts } from '../../src/daemon/texts/texts.ts';
import type { AlarmClock } from '../../src/daemon/time/clock.ts';
import { createRegistry, fixedSource } from '../../src/daemon/tools/registry.ts';
import { createToolAccess } from '../../src/daemon/tools/tool-access.ts';
import { NO_OBSERVER } from '../../src/daemon/trace/observer.ts';
import { secret, simulatedAgent, whoAmI } from './agent.ts';
import { API_SOURCE, apiTools } from './api.ts';
import { CHAT, FEED } from './platform.ts';
import { simulatedRequest } from './request.ts';
import type { DaemonName, Door } from './scenario.ts';
import { Actor } from './scheduler.ts';
import { openSimulatedStore } from './simulated-store.ts';
import { brief } from './trace.ts';
import type { World } from './world.ts';

/** The scopes of the three channels of a daemon. */
export interface Scopes {
  chat: ResponseScope;
  feed: StreamScope;
  post: PushScope;
}

/** How a request ended for its client. */
export type Response<T> =
  | { is: 'answered'; value: T }
  | { is: 'problem'; error: AgentdError }
  /** The daemon was not running, or did not accept it. */
  | { is: 'refused' }
  /** The connection broke, so the outcome is unknown. */
  | { is: 'lost' };

/** One run of a daemon, from its start to its crash or stop. It has the same parts as `startDaemon` creates. */
export class SimulatedDaemon {
  readonly name: DaemonName;
  readonly actor: Actor;
  readonly services: StreamServices;
  readonly #world: World;
  readonly #clock: AlarmClock;
  readonly #worker: InboxWorker;
  readonly #life: Lifecycle;
  readonly #stopping = new AbortController();
  readonly #died = Promise.withResolvers<{ is: 'lost' }>();
  readonly #requests = new Set<Promise<unknown>>();
  readonly #scopes: Scopes;
  readonly #drained = new AbortController();
  #accepts = false;
  #leavesRequests = false;

  constructor(world: World, name: DaemonName) {
    this.name = name;
    this.actor = new Actor(name);
    this.#world = world;
    const clock = world.scheduler.clockOf(this.actor, name === 'B' ? world.scenario.skew_ms : 0);
    this.#clock = clock;
    this.#life = new Lifecycle(clock);
    const { settings } = world;
    const log = this.#log();
    const store = openSimulatedStore(world, this);
    setMaxListeners(0, this.#drained.signal);
    const tokens = world.validatorFor(clock, log);
    const whoIsAsked = whoAmI(world, this);
    const forPersons = secret(world, this);
    const agent = simulatedAgent(world, this);
    const tools = createRegistry(
      [
        fixedSource(whoIsAsked.source, [whoIsAsked]),
        fixedSource(forPersons.source, [forPersons]),
        fixedSource(API_SOURCE, apiTools(world, this)),
      ],
      {
        access: createToolAccess(settings, { seal: world.seal, marks: NO_MARKS, clock, log }),
        log,
      },
    );
    const services = createServices({
      settings,
      clock,
      log,
      observer: NO_OBSERVER,
      store,
      tokens: {
        validate: (token, request_id) =>
          world.pass(this, {
            op: 'tokens.validate',
            effect: () => tokens.validate(token, request_id),
            failure: () => new Error('a validator does not fail'),
            words: () => '',
          }),
      },
      seal: world.seal,
      renewer: null,
      secrets: [],
      agent,
      agents: new Agents(
        [{ entry: ONLY_AGENT, runtime: agent, instructions: undefined, settings }],
        tools,
        () => store.audit.key(),
      ),
      logoutTokens: null,
      use: new UseCount(),
      tools,
      texts: new Texts(),
      memory: null,
      channelNames: ['chat', 'feed', 'post'],
      stopping: this.#stopping.signal,
    });
    this.services = { ...services, gate: { pass: () => world.scheduler.point(this.actor) } };
    this.#worker = new InboxWorker(this.services);
    const post = world.platform.pluginFor(this);
    const doors = { services: this.services, worker: this.#worker };
    this.#scopes = {
      chat: createResponseScope(CHAT, {}, doors),
      feed: createStreamScope(FEED, {}, doors),
      post: createPushScope(post, {}, doors),
    };
    this.#worker.add(post, post.create(this.#scopes.post));
  }

  get accepts(): boolean {
    return this.#accepts && !this.actor.isDead;
  }

  /** Whether it is processing a request or a message, even if the client has disconnected. */
  get isBusy(): boolean {
    return this.#requests.size > 0 || this.services.running.size > 0;
  }

  /**
   * Whether it stopped with requests in progress, because its grace period was over. These requests then find the store
   * closed.
   */
  get leavesRequests(): boolean {
    return this.#leavesRequests;
  }

  /** How many resources of each kind the daemon uses for its work. All counts are 0 if nothing is in progress. */
  get leftovers(): Readonly<Record<string, number>> {
    const { claims, sessions, sequencer, broadcaster, running, readers } = this.services;
    return {
      claims: claims.size,
      'locked sessions': sessions.size,
      'threads with requests': sequencer.size,
      'followed streams': broadcaster.size,
      'running messages': running.size,
      readers: readers.size,
    };
  }

  /** Starts as `startDaemon` does. Rejects if the store fails during the start. */
  async start(): Promise<void> {
    const { store, clock, log, claims } = this.services;
    this.#life.started('store', () => store.close());
    this.#life.started('reaper of streams', await startReaper(store.streams, clock, log));
    this.#life.started('renewal of claims', () => claims.stop());
    this.#life.started('inbox', () => this.#worker.stop());
    await this.#worker.start();
    this.#accepts = true;
  }

  /** Dies at once. Nothing that it has begun continues. */
  crash(): void {
    this.#world.scheduler.kill(this.actor);
    void this.services.store.close();
    this.#died.resolve({ is: 'lost' });
  }

  /** Stops as `startDaemon` does after SIGTERM, with the same grace period. */
  async stop(): Promise<void> {
    this.#accepts = false;
    const grace_ms = this.#world.settings.SHUTDOWN_GRACE_SECONDS * 1000;
    const ends_at = this.#clock.now() + grace_ms;
    this.#worker.pause();
    this.#drained.abort(new Error('the daemon is stopping'));
    await this.#settledBy(ends_at, this.#requests);
    await this.#settledBy(ends_at, this.services.running);
    this.#stopping.abort(new Error('the daemon is stopping'));
    await Promise.allSettled([...this.services.running]);
    this.#leavesRequests = this.#requests.size > 0;
    await this.#life.stop(this.services.log);
    this.#world.scheduler.kill(this.actor);
    this.#died.resolve({ is: 'lost' });
  }

  /**
   * Processes a request like the HTTP server: it takes the next ticket of the thread, validates the token, and then
   * calls the handler.
   * @param gone aborts when the client disconnects
   */
  request<T>(
    {
      door,
      thread,
      token,
      gone,
    }: { door: Door; thread: string | null; token: string | null; gone: AbortSignal },
    handle: (scopes: Scopes, request: ReturnType<typeof simulatedRequest>) => Promise<T>,
  ): Promise<Response<T>> {
    if (!this.accepts) return Promise.resolve({ is: 'refused' });
    const request = simulatedRequest(
      this.#world.nextRequestId(),
      AbortSignal.any([gone, this.#drained.signal]),
    );
    if (door === 'chat' && thread !== null)
      this.#world.record.arrivals.push({ request_id: request.id, at: this.actor, thread });
    const work = this.#handle(request, thread, token, () => handle(this.#scopes, request));
    this.#requests.add(work);
    void work.finally(() => this.#requests.delete(work));
    return Promise.race([work, this.#died.promise]);
  }

  async #handle<T>(
    request: ReturnType<typeof simulatedRequest>,
    thread: string | null,
    token: string | null,
    handle: () => Promise<T>,
  ): Promise<Response<T>> {
    request.ticket = thread === null ? null : this.services.sequencer.take(thread);
    try {
      if (token !== null)
        request.validated = { token, verdict: await this.services.tokens.validate(token, request.id) };
      return { is: 'answered', value: await handle() };
    } catch (error) {
      if (error instanceof AgentdError && error.code !== 'internal_error') return { is: 'problem', error };
      this.#world.report(`${this.name} answers with an internal error: ${brief(error)}`);
      return { is: 'lost' };
    } finally {
      request.ticket?.leave();
    }
  }

  async #settledBy(time: number, work: Iterable<Promise<unknown>>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(time - this.#clock.now(), resolve);
    await Promise.race([Promise.allSettled([...work]), promise]);
    cancel();
  }

  #log(): Log {
    const line = (level: string) => (fields: { err?: Error }, words: string) => {
      this.#world.trace.note(
        this.name,
        () => `  ${level}: ${words}${fields.err ? ` (${brief(fields.err)})` : ''}`,
      );
      if (level === 'error' && DEFECTS.test(words))
        this.#world.report(`${this.name} logs: ${words} ${brief(fields.err)}`);
    };
    const log = {
      debug: () => {},
      info: line('info'),
      warn: line('warn'),
      error: line('error'),
      child: () => log,
    };
    return log as unknown as Log;
  }
}

/** Log lines that only a defect of the program causes. */
const DEFECTS = /failed unexpectedly|did not stop cleanly/;
