import { AsyncLocalStorage } from 'node:async_hooks';
import { createHmac } from 'node:crypto';
import type { TokenValidator } from '../../src/daemon/identity/identity.ts';
import { importKeys, type VerificationKeys } from '../../src/daemon/identity/keys.ts';
import { createSeal } from '../../src/daemon/identity/seal.ts';
import { createValidator } from '../../src/daemon/identity/token-checks.ts';
import type { Log } from '../../src/daemon/process/log.ts';
import { Secret } from '../../src/daemon/settings/secret.ts';
import type { Settings } from '../../src/daemon/settings/settings.ts';
import { MemoryState } from '../../src/daemon/store/kernels/memory/kernel.ts';
import type { AlarmClock } from '../../src/daemon/time/clock.ts';
import { randomFrom, type SeededRandom } from '../support/chance.ts';
import { SimulatedApi } from './api.ts';
import { ClaimAudit } from './claim-audit.ts';
import { SimulatedDaemon } from './daemon.ts';
import { type Fault, Faults } from './faults.ts';
import { SimulatedPlatform } from './platform.ts';
import { labelOf, RunRecord } from './record.ts';
import {
  DAEMONS,
  type DaemonName,
  PEOPLE,
  type Person,
  type PlannedMessage,
  type Scenario,
} from './scenario.ts';
import { Actor, Scheduler } from './scheduler.ts';
import { brief, RunTrace } from './trace.ts';

/** The time at which every run begins, ms since the epoch. */
export const BEGIN = Date.UTC(2030, 0, 1);
const SECRET = new Secret('a-secret-of-the-simulation-with-32-bytes');
/** How long after a failed start a daemon is started again, ms. */
const START_AGAIN_MS = 1000;
/** The maximum duration of a stop, ms. A longer stop is reported as a problem. */
const STOP_MAX_MS = 300_000;
/** Longest delay of a call of a daemon that stops, ms: each of its parts has 10 s. */
const DELAY_OF_STOP_MS = 5_000;
/** Calls that are made again and again even while nothing happens. Most of them do not wait for the scheduler. */
const POLLS: ReadonlySet<string> = new Set(['outages.list', 'inbox.nextDueAt', 'inbox.reap', 'streams.reap']);
/** The share of these calls that waits for the scheduler. */
const POLLS_SCHEDULED = 0.02;
/** Calls that need neither the platform nor the store. */
const OF_NEITHER: ReadonlySet<string> = new Set(['agent', 'tool', 'api', 'tokens.validate']);

/** A call from a daemon to the store, the platform, the API, the agent, a tool or the token validator. */
export interface Passage<T> {
  /** The name of the call, to which faults refer. */
  op: string;
  effect(): T | Promise<T>;
  failure(when: 'before' | 'after'): Error;
  /** The subject of the call, for the trace. */
  words(): string;
  takes_ms?: number;
}

/** One run: the shared state, both daemons, the platform, and the records for the checks. */
export class World {
  readonly scenario: Scenario;
  readonly random: SeededRandom;
  readonly scheduler: Scheduler;
  readonly trace: RunTrace;
  readonly state = new MemoryState();
  readonly settings: Settings;
  readonly seal = createSeal(undefined);
  readonly faults: Faults;
  readonly claims: ClaimAudit;
  readonly record: RunRecord;
  readonly platform: SimulatedPlatform;
  readonly api: SimulatedApi;
  readonly hosts: Readonly<Record<DaemonName, Host>>;
  /** The pressed buttons. */
  readonly presses: { id: string; approve: boolean; person: string }[] = [];
  readonly violations: string[] = [];
  /** The faults and outages that have happened. */
  readonly struck: string[] = [];
  /** The actor that starts daemons and causes events. It is neither a daemon nor a client. */
  readonly outside = new Actor('—');
  readonly #keys: VerificationKeys;
  /** When each outage ends. */
  readonly #outages = new Map<string, number>();
  readonly #background = new Set<Promise<void>>();
  readonly #labels = new AsyncLocalStorage<string>();
  #lastWork: Promise<unknown> = Promise.resolve();
  #requests = 0;

  constructor(scenario: Scenario, keys: VerificationKeys, isTraced: boolean) {
    this.scenario = scenario;
    this.#keys = keys;
    this.random = randomFrom(scenario.seed * 2);
    this.scheduler = new Scheduler(this.random, BEGIN);
    this.trace = new RunTrace(isTraced, () => this.scheduler.now);
    this.settings = settingsOf(scenario);
    this.faults = new Faults(scenario.faults);
    this.claims = new ClaimAudit(
      () => this.scheduler.now,
      this.report,
      () => this.struck.length > 0,
    );
    this.record = new RunRecord(this);
    this.platform = new SimulatedPlatform(this);
    this.api = new SimulatedApi(this);
    this.hosts = { A: new Host(this, 'A'), B: new Host(this, 'B') };
  }

  /** Records something that must never happen. */
  readonly report = (problem: string): void => {
    this.violations.push(problem);
    this.trace.note('!!!!', () => problem);
  };

  nextRequestId(): string {
    this.#requests++;
    return `request-${this.#requests}`;
  }

  /** While the work runs, this message counts as the message that is being processed (`label`). */
  about<T>(label: string, work: () => T): T {
    return this.#labels.run(label, work);
  }

  messageOf(text: string): PlannedMessage {
    const label = labelOf(text);
    const found = this.scenario.messages.find((message) => message.label === label);
    if (!found) throw new Error(`there is no message ${label}`);
    return found;
  }

  /** Whether this channel user is this person, or is linked to them at any time in the scenario. */
  mayActFor(user: string, person: string): boolean {
    return (
      user === person ||
      this.scenario.happenings.some((one) => one.is === 'link' && one.person === user && one.as === person)
    );
  }

  tokenOf(person: Person): string {
    return TOKENS[person];
  }

  validatorFor(clock: AlarmClock, log: Log): TokenValidator {
    return createValidator(TOKEN_SETTINGS, this.#keys, clock, log);
  }

  /** Adds work other than messages. The run does not end before this work. */
  inBackground(work: Promise<void>): void {
    this.#background.add(work);
    void work.then(() => this.#background.delete(work));
  }

  get isBusy(): boolean {
    return this.#background.size > 0;
  }

  /** Makes every call to the platform, or to the store, fail for this time. */
  beginOutage(what: 'platform-outage' | 'store-outage', ms: number): void {
    this.struck.push(what);
    this.trace.note('—', () => `${what.toUpperCase()} for ${ms} ms`);
    this.#outages.set(what, this.scheduler.now + ms);
  }

  /**
   * Runs one piece of work on the state at a time, so that its effect is checked before anything else changes the
   * state.
   */
  atomically<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lastWork.then(work);
    this.#lastWork = result.catch(() => undefined);
    return result;
  }

  /** Makes a call. It waits for the scheduler before and after its effect, and can have a fault. */
  async pass<T>(
    daemon: SimulatedDaemon,
    { op, effect, failure, words, takes_ms = 0 }: Passage<T>,
  ): Promise<T> {
    const { actor, name } = daemon;
    const fault = this.faults.of(op);
    const isPoll = POLLS.has(op);
    const chance = isPoll ? POLLS_SCHEDULED : this.scenario.scheduled;
    const isScheduled = fault !== null || takes_ms > 0 || this.random.chance(chance);
    if (isPoll && !isScheduled && !this.#isOut(op)) return effect();
    const latency = () => (this.random.chance(0.3) ? this.random.below(30) : 0);
    if (isScheduled) await this.scheduler.point(actor, takes_ms + latency());
    if (fault?.when === 'before') await this.#strike(fault, daemon, failure);
    if (this.#isOut(op)) throw failure('before');
    const result = await effect();
    if (!isPoll) this.trace.note(name, () => `${this.#label()}${op}(${words()}) → ${brief(result)}`);
    if (fault?.when === 'after') await this.#strike(fault, daemon, failure);
    if (isScheduled) await this.scheduler.point(actor, latency());
    return result;
  }

  #isOut(op: string): boolean {
    if (this.faults.isCalm || this.#outages.size === 0) return false;
    const what = op === 'platform.send' ? 'platform-outage' : 'store-outage';
    return !OF_NEITHER.has(op) && (this.#outages.get(what) ?? 0) > this.scheduler.now;
  }

  async #strike(
    fault: Fault,
    daemon: SimulatedDaemon,
    failure: (when: Fault['when']) => Error,
  ): Promise<void> {
    const { act, op, when, ms } = fault;
    this.struck.push(`${act} ${when} ${op}`);
    this.trace.note(
      daemon.name,
      () => `${this.#label()}FAULT ${act} ${when} ${op}${ms > 0 ? `, ${ms} ms` : ''}`,
    );
    const host = this.hosts[daemon.name];
    switch (act) {
      case 'error':
        throw failure(when);
      case 'delay':
        return this.scheduler.point(daemon.actor, host.delay(ms));
      case 'pause':
        host.pause(ms);
        return this.scheduler.point(daemon.actor);
      case 'crash':
        host.crash(ms);
        // Nothing in a dead daemon continues.
        return new Promise(() => undefined);
      case 'stop':
        host.stop(ms);
        return;
    }
  }

  /** The message that is being processed, if there is one. */
  get label(): string | undefined {
    return this.#labels.getStore();
  }

  #label(): string {
    const { label } = this;
    return label === undefined ? '' : `[${label}] `;
  }
}

/** Runs a daemon, and starts it again after it has crashed or stopped. */
export class Host {
  readonly #world: World;
  readonly #name: DaemonName;
  #daemon: SimulatedDaemon | null = null;
  #isStopping = false;
  /** When the last call ends that a fault delays. */
  #delayedUntil = 0;

  constructor(world: World, name: DaemonName) {
    this.#world = world;
    this.#name = name;
  }

  get daemon(): SimulatedDaemon | null {
    return this.#daemon;
  }

  get isUp(): boolean {
    return this.#daemon?.accepts ?? false;
  }

  get isBusy(): boolean {
    return this.#daemon?.isBusy ?? false;
  }

  async start(): Promise<void> {
    const daemon = new SimulatedDaemon(this.#world, this.#name);
    this.#daemon = daemon;
    this.#world.trace.note(this.#name, () => 'starts');
    try {
      await daemon.start();
      this.#world.trace.note(this.#name, () => 'is up');
    } catch (error) {
      this.#world.trace.note(this.#name, () => `does not start: ${brief(error)}`);
      if (this.#daemon === daemon) this.#die(START_AGAIN_MS);
    }
  }

  /** @param ms until the daemon starts again */
  crash(ms: number): void {
    if (this.#daemon === null) return;
    this.#world.trace.note(this.#name, () => `CRASHES, starts again after ${ms} ms`);
    this.#world.struck.push('crash');
    this.#die(ms);
  }

  stop(ms: number): void {
    const daemon = this.#daemon;
    if (daemon === null || this.#isStopping || !daemon.accepts) return;
    const { now } = this.#world.scheduler;
    // A suspended process gets the signal only when it continues.
    if (daemon.actor.pausedUntil > now || this.#delayedUntil > now + DELAY_OF_STOP_MS) return;
    this.#world.trace.note(this.#name, () => 'STOPS');
    this.#world.struck.push('stop');
    this.#isStopping = true;
    const giveUp = this.#world.scheduler.add(this.#world.outside, STOP_MAX_MS, () =>
      this.#world.report(`${this.#name} did not stop in time`),
    );
    void daemon.stop().then(() => {
      giveUp();
      this.#world.trace.note(this.#name, () => `has stopped, starts again after ${ms} ms`);
      if (this.#daemon === daemon) this.#die(ms);
    });
  }

  pause(ms: number): void {
    // The time that a part has to stop passes meanwhile, so the process would rightly say that it did not.
    if (this.#daemon === null || this.#isStopping) return;
    this.#world.trace.note(this.#name, () => `IS SUSPENDED for ${ms} ms`);
    this.#world.struck.push('pause');
    const { actor } = this.#daemon;
    actor.pausedUntil = Math.max(actor.pausedUntil, this.#world.scheduler.now + ms);
  }

  /**
   * A call of the daemon is delayed. @returns for how long, ms: a part that stops waits for its calls, so it would rightly
   * say that it did not stop in time.
   */
  delay(ms: number): number {
    const taken = this.#isStopping ? Math.min(ms, DELAY_OF_STOP_MS) : ms;
    this.#delayedUntil = Math.max(this.#delayedUntil, this.#world.scheduler.now + taken);
    return taken;
  }

  /** Lets a suspended daemon continue. */
  wake(): void {
    if (this.#daemon) this.#daemon.actor.pausedUntil = 0;
  }

  #die(ms: number): void {
    this.#isStopping = false;
    this.#daemon?.crash();
    this.#daemon = null;
    this.#world.scheduler.add(this.#world.outside, ms, () => void this.start());
  }
}

const DEFAULTS = {
  APP_NAME: 'agentd',
  SESSION_TTL_SECONDS: 86_400,
  COLLECT_MAX_MS: 4000,
  SIGN_IN_WAIT_SECONDS: 2400,
  AGENT_TIMEOUT_SECONDS: 60,
  AGENT_CONCURRENCY: 4,
  AGENT_QUEUE_MAX: 100,
  AGENT_QUEUE_WAIT_SECONDS: 60,
  INBOX_MAX_ATTEMPTS: 12,
  INBOX_SEND_SECONDS: 86_400,
  LOOP_GUARD_ENABLED: true,
  LOOP_GUARD_MAX_MESSAGES: 1000,
  LOOP_GUARD_WINDOW_SECONDS: 60,
  LOOP_GUARD_COOLDOWN_SECONDS: 60,
  LOOP_GUARD_REPEAT_THRESHOLD: 100,
  LOOP_GUARD_REPEAT_WINDOW_SECONDS: 60,
  SHUTDOWN_GRACE_SECONDS: 5,
  WEBCHAT_ALLOWED_ORIGINS: [],
  JWT_VERIFY_EXP: true,
  JWT_CLOCK_SKEW_SECONDS: 0,
} satisfies Partial<Settings>;

function settingsOf({ maxTurns, runSeconds, collect_ms }: Scenario): Settings {
  return {
    ...DEFAULTS,
    LOOP_GUARD_MAX_TURNS_PER_SESSION: maxTurns,
    INBOX_RUN_SECONDS: runSeconds,
    COLLECT_MS: collect_ms,
  } as unknown as Settings;
}

const TOKEN_SETTINGS = {
  JWT_SECRET_KEY: SECRET,
  JWT_ALGORITHM: 'HS256' as const,
  JWT_PUBLIC_KEY: undefined,
  JWT_JWKS_URL: undefined,
  JWT_VERIFY_SIGNATURE: true,
  JWT_VERIFY_EXP: true,
  JWT_ISSUER: undefined,
  JWT_AUDIENCE: undefined,
  JWT_CLOCK_SKEW_SECONDS: 0,
  JWT_DEBUG: false,
};

export function importSimulatedKeys(): Promise<VerificationKeys> {
  return importKeys(TOKEN_SETTINGS);
}

const TOKENS = Object.fromEntries(PEOPLE.map((person) => [person, signed(person)])) as Record<Person, string>;

function signed(person: Person): string {
  const claims = { sub: person, email: `${person}@example.com`, exp: BEGIN / 1000 + 365 * 86_400 };
  const encoded = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const content = encoded.join('.');
  return `${content}.${createHmac('sha256', SECRET.reveal()).update(content).digest('base64url')}`;
}

export { DAEMONS };
