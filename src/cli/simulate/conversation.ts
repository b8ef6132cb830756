import { setTimeout as delay } from 'node:timers/promises';
import type { Shown, SimulatedEvent } from '../../channel/index.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { deliver } from './deliver.ts';
import { type Happening, type Summary, summaryOf } from './happening.ts';
import type { Ending, Records } from './records.ts';
import type { Scene } from './scene.ts';
import { asksForAnswer, type Volley } from './script.ts';

/** How often the daemon's records are looked at, ms. */
const LOOK_MS = 100;
/** After the last answer something may follow: a read mark, the next conversation's beginning, ms. */
const QUIET_MS = 300;
/** The same where only what is shown tells that an answer has come: it may have several parts, ms. */
const QUIET_UNRECORDED_MS = 1500;
/** Where nothing has to come, something may: so long is waited for it, ms. */
const NOTHING_DUE_MS = 2000;

/** A message that gets an answer, or another end. */
interface Pending {
  number: number;
  request_id: string | null;
  /** A command is not a message of the inbox: no record tells of it. */
  isRecorded: boolean;
  ending: Ending | null;
}

/** What one call of `agentd simulate` sends, and what comes back for it. */
export class Conversation {
  readonly #scene: Scene;
  readonly #daemon: URL;
  readonly #records: Records | null;
  readonly #tell: (happening: Happening) => void;
  /** Places where answers are seen. */
  readonly #ours = new Set<string>();
  readonly #pending: Pending[] = [];
  readonly #numbers = new Set<number>();
  readonly #quietUnrecorded_ms: number;
  /** The records tell of this conversation: they are not those of another daemon. */
  #isRecorded = false;
  readonly #isStoodIn: boolean;
  #deliveries = 0;
  #allRefused = true;
  #isRight = true;
  #texts = 0;
  #lastSign = Date.now();

  constructor(options: {
    scene: Scene;
    daemon: URL;
    records: Records | null;
    /** How long the platform's API takes to answer, ms. */
    slow_ms: number;
    /** The answers come here. */
    isStoodIn: boolean;
    tell(happening: Happening): void;
  }) {
    this.#scene = options.scene;
    this.#daemon = options.daemon;
    this.#records = options.records;
    this.#isStoodIn = options.isStoodIn;
    this.#tell = options.tell;
    this.#quietUnrecorded_ms = QUIET_UNRECORDED_MS + options.slow_ms;
  }

  /** Something is seen in the platform's app. @param ours it is known to belong to this conversation. */
  show(shown: Shown, ours = this.#ours.has(shown.to)): void {
    const other = !ours;
    this.#lastSign = Date.now();
    if (!other && isText(shown)) this.#texts++;
    this.#tell({ type: 'shown', other, ...shown });
  }

  /** Is it a text for this conversation, and not for an earlier one? */
  isReply(shown: Shown): boolean {
    return isText(shown) && this.#ours.has(shown.to);
  }

  /** The platform's API has refused a call of the channel. @param asked_for as the options say. */
  refuse(status: number, asked_for: boolean): void {
    this.#tell({ type: 'refused', status, asked_for });
  }

  /** Sends volley after volley. Throws CliError (69) where no daemon answers. */
  async send(volleys: readonly Volley[]): Promise<void> {
    for (const volley of volleys) {
      for (const event of volley) {
        const { simulator, settings } = this.#scene;
        for (const place of simulator.seenIn(event, settings)) this.#ours.add(place);
      }
      await Promise.all(volley.map((event) => this.#send(event)));
    }
  }

  /** Resolves when all has come that was to come and nothing follows, after `wait_ms`, or when aborted. */
  async untilQuiet(wait_ms: number, signal: AbortSignal): Promise<void> {
    const ends_at = Date.now() + wait_ms;
    if (!this.#isStoodIn && this.#records === null) return;
    while (Date.now() < ends_at && !signal.aborted) {
      await this.#look();
      if (this.#hasAll() && this.#quiet_ms >= QUIET_MS) return;
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  summary(): Summary {
    return summaryOf(
      this.#pending.map(({ ending }) => ending),
      this.#isStoodIn || this.#isRecorded,
    );
  }

  /** The daemon answered as it should to all that was sent. */
  get wasTakenRightly(): boolean {
    return this.#isRight;
  }

  async #send(event: SimulatedEvent): Promise<void> {
    const { simulator, settings, plugin } = this.#scene;
    const delivery = ++this.#deliveries;
    this.#tell({ type: 'sent', ...event });
    const { status, body, request_id, took_ms } = await deliver(
      this.#daemon,
      simulator.delivery(event, settings),
    );
    this.#lastSign = Date.now();
    const taken = status >= 200 && status < 300;
    const reason = taken ? null : codeOf(body);
    this.#tell({ type: 'answer', number: event.number, delivery, status, request_id, reason, took_ms });
    if (status === 404 && reason === 'not_found')
      throw new CliError(
        EXIT.no,
        `the daemon at ${this.#daemon.origin} has no channel ${plugin.name}`,
        '`agentd status` shows those it has; `agentd serve --dev` runs them all.',
      );
    if (event.bad_signature ? status !== 401 : !taken) this.#isRight = false;
    if (taken) this.#allRefused = false;
    const isNew = !this.#numbers.has(event.number);
    this.#numbers.add(event.number);
    if (taken && isNew && asksForAnswer(event)) {
      const isRecorded = event.kind === 'message' && request_id !== null;
      this.#pending.push({ number: event.number, request_id, isRecorded, ending: null });
    }
    if (taken) for (const shown of simulator.shownOf?.({ status, body }) ?? []) this.show(shown, true);
  }

  async #look(): Promise<void> {
    for (const pending of this.#pending) {
      if (hasEnded(pending) || !pending.isRecorded || pending.request_id === null) continue;
      pending.ending = (await this.#records?.endingOf(pending.request_id)) ?? null;
      if (pending.ending !== null) this.#isRecorded = true;
    }
    // What no record tells of is told by what is shown.
    const open = this.#pending.filter(
      (pending) => !hasEnded(pending) && !(pending.isRecorded && this.#isRecorded),
    );
    const answered = this.#pending.filter(({ ending }) => ending?.end === 'answered').length;
    if (this.#texts - answered < open.length || this.#quiet_ms < this.#quietUnrecorded_ms) return;
    for (const pending of open) pending.ending = { end: 'answered' };
  }

  #hasAll(): boolean {
    if (this.#pending.length === 0) return this.#allRefused || this.#quiet_ms >= NOTHING_DUE_MS;
    return this.#pending.every(hasEnded);
  }

  get #quiet_ms(): number {
    return Date.now() - this.#lastSign;
  }
}

function isText({ what }: Shown): boolean {
  return what === 'message' || what === 'private';
}

function hasEnded({ ending }: Pending): boolean {
  return ending !== null && ending.end !== 'open';
}

/** The code of a problem document. */
function codeOf(body: string): string | null {
  try {
    const { code } = JSON.parse(body) as { code?: unknown };
    return typeof code === 'string' ? code : null;
  } catch {
    // Whatever else answers there.
    return null;
  }
}
