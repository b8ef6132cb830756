import { setTimeout as delay } from 'node:timers/promises';
import {
  readPressPayload,
  type Shown,
  type SimulatedEvent,
  type SimulatedRequest,
} from '../../channel/index.ts';
import { jsonObject } from '../../channel/json-object.ts';
import { hasOwnConnection, updateRequest } from '../../channel/simulator.ts';
import { failed, unavailable } from '../cli-error.ts';
import { describeFailure, readAnswerText, sendRequest } from '../running-daemon.ts';
import { asksForAnswer, type Batch, type DaemonRecords, type MessageEnd, type Scenario } from './scenario.ts';

/** How often the daemon's records are read, ms. */
const POLL_MS = 100;
/** How long to wait after the last answer for a read mark or the next part, ms. */
const SETTLE_MS = 300;
/** Replaces SETTLE_MS if the daemon's records cannot be read, because nothing then shows whether more will follow. */
const SETTLE_BLIND_MS = 1500;

/** A message that gets an answer, or ends in another way. */
interface Pending {
  /** Null for a command: it is not a message of the inbox, so the daemon has no record of it. */
  request_id: string | null;
  end: MessageEnd | null;
}

interface SimulationParts {
  scenario: Scenario;
  daemon: URL;
  /** Null if the daemon's records cannot be read. */
  records: DaemonRecords | null;
  /**
   * Whether the records and the address of the daemon come from the same settings, and so belong to the same daemon.
   */
  areItsRecords: boolean;
  /** Which button of a question is pressed; null if none is. */
  press: 'yes' | 'no' | null;
  /** How long the platform's API takes to answer, ms. */
  slow_ms: number;
  /** Whether the replies of the channel arrive here. */
  hasApi: boolean;
  report(event: SimulationEvent): void;
}

/** Sends the messages of one call of `agentd simulate`, and collects their answers. */
export class Simulation {
  readonly #parts: SimulationParts;
  readonly #began = Date.now();
  /** Places in which the answers of this simulation appear. */
  readonly #places = new Set<string>();
  readonly #pending: Pending[] = [];
  readonly #numbers = new Set<number>();
  readonly #lastIn = new Map<string, SimulatedEvent>();
  readonly #pressed = new Set<string>();
  /** Presses that are being sent. */
  readonly #presses = new Set<Promise<void>>();
  #failure: unknown;
  #knows: boolean;
  #deliveries = 0;
  #areAllRefused = true;
  #isExpected = true;
  #texts = 0;
  #lastEventAt = Date.now();

  constructor(parts: SimulationParts) {
    this.#parts = parts;
    this.#knows = parts.records !== null && parts.areItsRecords;
  }

  /**
   * Call this when something appears in the platform's app.
   * @param isOurs whether it is known to belong to this simulation
   */
  show(shown: Shown, isOurs = this.#places.has(shown.to)): void {
    this.#lastEventAt = Date.now();
    if (isOurs && isText(shown)) this.#texts++;
    this.#parts.report({ type: 'shown', other: !isOurs, ...shown });
    if (isOurs) this.#press(shown);
  }

  /** Presses the button that the options name, once for each question. */
  #press({ to, buttons = [] }: Shown): void {
    const { press } = this.#parts;
    const button = buttons.find((one) => readPressPayload(one.press)?.approve === (press === 'yes'));
    const event = this.#lastIn.get(to);
    if (press === null || !button || !event || this.#pressed.has(button.press)) return;
    this.#pressed.add(button.press);
    const sending = this.#send({ ...event, kind: 'press', text: button.press, sent_at: Date.now() })
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => this.#presses.delete(sending));
    this.#presses.add(sending);
  }

  /** Whether the text is for this simulation, and not for an earlier one. */
  isReply(shown: Shown): boolean {
    return isText(shown) && this.#places.has(shown.to);
  }

  /**
   * Call this when the platform's API has refused a call of the channel.
   * @param asked_for whether the options requested the refusal
   */
  refuse(status: number, asked_for: boolean): void {
    this.#parts.report({ type: 'refused', status, asked_for });
  }

  /** Sends batch after batch. Throws CliError (69) if no daemon answers. */
  async send(batches: readonly Batch[]): Promise<void> {
    for (const batch of batches) await Promise.all(batch.map((event) => this.#send(event)));
  }

  /** Resolves when all messages have ended and nothing more is expected, after `wait_ms`, or when the signal aborts. */
  async untilSettled(wait_ms: number, signal: AbortSignal): Promise<void> {
    const ends_at = Date.now() + wait_ms;
    const { hasApi, records } = this.#parts;
    if (!hasApi && records === null) return;
    while (Date.now() < ends_at && !signal.aborted) {
      if (this.#failure !== undefined) throw this.#failure;
      await this.#readRecords();
      if (this.#presses.size === 0 && (await this.#isSettled())) return;
      await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  summary(): Summary {
    const ends = this.#pending.map(({ end }) => end);
    return summarize(ends, this.#parts.hasApi || this.#knows);
  }

  /** Whether the daemon answered every delivery as expected. */
  get isExpected(): boolean {
    return this.#isExpected;
  }

  async #send(event: SimulatedEvent): Promise<void> {
    const { scenario, daemon, report } = this.#parts;
    const { simulator, settings, plugin } = scenario;
    for (const place of simulator.seenIn(event, settings)) {
      this.#places.add(place);
      this.#lastIn.set(place, event);
    }
    const delivery = ++this.#deliveries;
    report({ type: 'sent', ...event });
    const made = simulator.delivery(event, settings);
    const answer = await deliver(daemon, hasOwnConnection(plugin) ? updateRequest(plugin, made) : made);
    const { status, body, request_id, took_ms } = answer;
    this.#lastEventAt = Date.now();
    const isTaken = status >= 200 && status < 300;
    const { code } = jsonObject(body);
    const reason = !isTaken && typeof code === 'string' ? code : null;
    report({ type: 'answer', number: event.number, delivery, status, request_id, reason, took_ms });
    if (status === 404 && reason === 'not_found')
      throw failed(
        `the daemon at ${daemon.origin} has no channel ${plugin.name}`,
        '`agentd status` shows its channels. `agentd serve --dev` runs all channels.',
      );
    if (event.bad_signature ? status !== 401 : !isTaken) this.#isExpected = false;
    if (!isTaken) return;
    this.#areAllRefused = false;
    const isNew = event.kind === 'press' || !this.#numbers.has(event.number);
    this.#numbers.add(event.number);
    if (isNew && asksForAnswer(event))
      this.#pending.push({ request_id: event.kind === 'command' ? null : request_id, end: null });
    for (const shown of simulator.shownOf?.({ status, body }) ?? []) this.show(shown, true);
  }

  /** Asks the daemon's records how the messages ended. */
  async #readRecords(): Promise<void> {
    const { records } = this.#parts;
    let found = false;
    for (const pending of this.#pending) {
      if (records === null || pending.request_id === null || hasEnded(pending)) continue;
      pending.end = await records.findEnd(pending.request_id);
      found ||= pending.end !== null;
    }
    // The records of another daemon contain none of the messages.
    if (found) this.#knows = true;
  }

  async #isSettled(): Promise<boolean> {
    const { records, scenario, slow_ms } = this.#parts;
    if (this.#pending.length === 0 && this.#areAllRefused) return true;
    const quiet_ms = Date.now() - this.#lastEventAt;
    if (quiet_ms < (this.#knows ? SETTLE_MS : SETTLE_BLIND_MS + slow_ms)) return false;
    if (this.#knows && (await records?.hasOpenText(scenario.plugin.name, this.#began))) return false;
    const unrecorded = this.#pending.filter((pending) => pending.end === null);
    const answered = this.#pending.filter(({ end }) => end?.end === 'answered').length;
    if (this.#texts - answered >= unrecorded.length)
      for (const pending of unrecorded) pending.end = { end: 'answered' };
    return this.#pending.every(hasEnded);
  }
}

function isText({ what }: Shown): boolean {
  return what === 'message' || what === 'private';
}

function hasEnded({ end }: Pending): boolean {
  return end !== null && end.end !== 'open';
}

/** Platforms wait for a few seconds only, and then repeat the delivery. */
const ANSWER_WITHIN_MS = 10_000;

/** The daemon's answer to a delivery. */
interface DaemonAnswer {
  status: number;
  body: string;
  /** The daemon's id of the request; null if the server is not agentd. */
  request_id: string | null;
  took_ms: number;
}

/** Sends a delivery of the platform. Throws CliError (69) if no server answers. */
async function deliver(daemon: URL, delivery: SimulatedRequest): Promise<DaemonAnswer> {
  const { path, method, body } = delivery;
  const headers = { ...delivery.headers, 'Content-Length': Buffer.byteLength(body) };
  const began = performance.now();
  try {
    const response = await sendRequest(new URL(path, daemon), {
      method,
      headers,
      body,
      silence_ms: ANSWER_WITHIN_MS,
    });
    const text = await readAnswerText(response);
    const id = response.headers['x-request-id'];
    return {
      status: response.statusCode ?? 0,
      body: text,
      request_id: typeof id === 'string' ? id : null,
      took_ms: Math.round(performance.now() - began),
    };
  } catch (cause) {
    throw unavailable(
      `cannot reach the daemon at ${daemon.host}: ${describeFailure(cause)}`,
      'Start the daemon with `agentd serve --dev`, or pass its address with --url.',
      { cause },
    );
  }
}

/** An event of a simulation. With `--json`, these are the items of the array. */
export type SimulationEvent =
  | ({ type: 'sent' } & SimulatedEvent)
  /** The daemon's answer to a delivery. `reason` is the code of a refusal. */
  | {
      type: 'answer';
      /** Number of the message. */
      number: number;
      /** Number of the delivery, starting at 1. */
      delivery: number;
      status: number;
      request_id: string | null;
      reason: string | null;
      took_ms: number;
    }
  /** `other`: the text belongs to an earlier conversation, or to another place. */
  | ({ type: 'shown'; other: boolean } & Shown)
  /** The platform's API refused a call. `asked_for`: the options of the command requested the refusal. */
  | { type: 'refused'; status: number; asked_for: boolean }
  | ({ type: 'end' } & Summary);

/** How the messages ended. Each is counted in one of the five groups. */
export interface Summary {
  messages: number;
  answered: number;
  blocked: number;
  failed: number;
  /** Messages for which nothing arrived in time. */
  unanswered: number;
  /** Messages whose end this command cannot see. */
  unseen: number;
  /** The reasons for blocks and failures, each listed once. */
  reasons: string[];
}

/** Whether the daemon answered as a person expects: the loop guard may block some messages, but not all. */
export function isAnswered({ answered, blocked, failed, unanswered }: Summary): boolean {
  return failed === 0 && unanswered === 0 && (blocked === 0 || answered > 0);
}

/** @param isVisible whether the answers arrive here, or the daemon's records can be read */
function summarize(ends: readonly (MessageEnd | null)[], isVisible: boolean): Summary {
  const count = (kind: MessageEnd['end']) => ends.filter((end) => end?.end === kind).length;
  const reasons = ends.flatMap((end) => (end && 'reason' in end && end.reason !== null ? [end.reason] : []));
  const unknown = ends.filter((end) => end === null).length;
  return {
    messages: ends.length,
    answered: count('answered'),
    blocked: count('blocked'),
    failed: count('failed'),
    unanswered: count('open') + (isVisible ? unknown : 0),
    unseen: isVisible ? 0 : unknown,
    reasons: [...new Set(reasons)],
  };
}
