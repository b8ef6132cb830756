import type { MeteredCall, ModelCallContent, ModelCallResult, ModelMeter } from '../../agent/index.ts';
import type { PersonKey } from '../identity/identity.ts';
import type { Log } from '../process/log.ts';
import type { BudgetStore } from '../store/limits/budgets.ts';
import type { LocalTexts } from '../texts/texts.ts';
import { type Clock, randomSuffix } from '../time/clock.ts';
import { ContextEnded } from '../time/time-limit.ts';
import type { TracePart, TraceWriter } from '../trace/trace.ts';
import type { StepLine } from '../trace/trace-record.ts';
import type { RunRecorder } from './run-recorder.ts';

/** Tokens that are reserved for an answer if nothing limits its length. */
const USUAL_OUTPUT_TOKENS = 1024;

/**
 * Whether a value can be a number of tokens. With any other, such as a negative one, AGENT_DAILY_TOKENS would limit
 * nothing, and the metrics could not be counted.
 */
export function isTokenCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

/** The number of tokens that a runtime reports; 0 if it cannot be one. */
function readTokenCount(value: unknown): number {
  return isTokenCount(value) ? value : 0;
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
}

export interface MeterParts {
  trace: TraceWriter;
  clock: Clock;
  log: Pick<Log, 'warn'>;
  /** The texts in the language of the person whom the run answers. */
  texts: LocalTexts;
  /** Null if AGENT_DAILY_TOKENS sets no limit. */
  budget: { store: BudgetStore; key: string; max: number } | null;
  /** The time by which the run must have ended, ms since the epoch. Its reservations expire at that time. */
  deadline: number;
  /**
   * Whether the run may no longer store anything. If the person was erased, for example, a new budget would put them
   * into the store again. May reject if this cannot be determined now.
   */
  isLost(): Promise<boolean>;
  /** Notes what each call received and answered. Absent or null if runs are not recorded. */
  recorder?: Pick<RunRecorder, 'model'> | null;
}

/**
 * The meter of one run. It adds one line to the trace for each call of a model, counts the tokens of all calls, and
 * charges them to the budget of the person whom the run answers.
 */
export class RunMeter implements ModelMeter {
  readonly #parts: MeterParts;
  #settling: Set<Promise<void>> | null = null;
  #usage: Usage | null = null;
  #hasEnded = false;

  constructor(parts: MeterParts) {
    this.#parts = parts;
  }

  /** The tokens of the calls that have ended; null if no model was called. */
  get usage(): Usage | null {
    return this.#usage;
  }

  async begin(call: Parameters<ModelMeter['begin']>[0]): Promise<MeteredCall> {
    // Its tokens would count for a person whose message was answered long ago.
    if (this.#hasEnded) throw ContextEnded.ofRun();
    const { trace, clock, deadline, texts, recorder = null } = this.#parts;
    const { model, provider, max_output_tokens } = call;
    const id = randomSuffix();
    const budget = await this.#budget();
    if (budget) {
      const expected = Math.ceil(readTokenCount(call.prompt_tokens));
      const tokens = expected + readTokenCount(max_output_tokens ?? USUAL_OUTPUT_TOKENS);
      const request = { id, tokens, max: budget.max, ttl_ms: Math.max(1, deadline - clock.now()) };
      const { granted, left, retry_after_ms } = await budget.store.reserve(budget.key, request);
      if (!granted) {
        const detail = { model, tokens, left, limit: budget.max };
        trace.note({ step: 'model', verdict: 'refused', reason: 'budget_exhausted', detail });
        return { ok: false, message: budgetNotice(texts, retry_after_ms) };
      }
    }
    const part = trace.begin('model', { provider, max_output_tokens });
    const began = performance.now();
    let isOver = false;
    let heard: ModelCallContent | null = null;
    const end = async (reported: ModelCallResult) => {
      if (isOver) return;
      isOver = true;
      const result = {
        ...reported,
        input_tokens: readTokenCount(reported.input_tokens),
        output_tokens: readTokenCount(reported.output_tokens),
      };
      recorder?.model({ model, provider }, heard, result);
      this.#end(part, model, result, performance.now() - began);
      if (budget) await this.#settle(id, result.input_tokens + result.output_tokens);
    };
    if (part.content === null && recorder === null) return { ok: true, end };
    const content = (given: ModelCallContent) => {
      heard = given;
      part.content?.({ input: given.input, output: given.output });
    };
    return { ok: true, end, content };
  }

  /** Writes a line about the run's use of models to its trace. */
  note(line: StepLine): void {
    this.#parts.trace.note({ step: 'model', ...line });
  }

  /**
   * Called when the run has ended: no call can begin anymore. Resolves when all used tokens are counted. Null if they
   * are.
   */
  settled(): Promise<unknown> | null {
    this.#hasEnded = true;
    return this.#settling && Promise.all(this.#settling);
  }

  #end(part: TracePart, model: string, result: ModelCallResult, took_ms: number): void {
    const { failure, input_tokens, output_tokens, estimated, first_token_ms } = result;
    this.#usage = {
      input_tokens: (this.#usage?.input_tokens ?? 0) + input_tokens,
      output_tokens: (this.#usage?.output_tokens ?? 0) + output_tokens,
    };
    part.end({
      verdict: failure === undefined ? 'ok' : 'failed',
      ...(failure === undefined ? {} : { reason: failure }),
      detail: {
        model,
        input_tokens,
        output_tokens,
        ...(estimated ? { estimated } : {}),
        ...(first_token_ms === undefined ? {} : { first_token_ms: Math.round(first_token_ms) }),
      },
      took_ms: Math.round(took_ms),
    });
  }

  /** Settles a reservation with the tokens that were used. If that fails, the reservation expires with the run. */
  async #settle(id: string, tokens: number): Promise<void> {
    const count = async () => {
      const budget = await this.#budget();
      await budget?.store.settle(budget.key, id, tokens);
    };
    const work = count().catch((err: unknown) => {
      this.#parts.log.warn({ err }, 'the tokens of a model call could not be counted');
    });
    this.#settling ??= new Set();
    this.#settling.add(work);
    await work;
    this.#settling.delete(work);
  }

  /** The budget for the tokens of this run. Null if there is no limit, or if the run may no longer store anything. */
  async #budget(): Promise<MeterParts['budget']> {
    const { budget, isLost } = this.#parts;
    if (budget === null) return null;
    return (await isLost().catch(() => false)) ? null : budget;
  }
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * The text for a person whose message does not fit into what is left of AGENT_DAILY_TOKENS.
 * @param retry_after_ms null if waiting does not help, because the message alone exceeds the limit.
 */
export function budgetNotice(texts: LocalTexts, retry_after_ms: number | null): string {
  if (retry_after_ms === null) return texts.say('budget_too_long');
  return texts.say('budget_notice', { wait: formatWait(texts, retry_after_ms) });
}

function formatWait(texts: LocalTexts, ms: number): string {
  if (ms <= MINUTE_MS) return texts.say('wait_minute');
  if (ms <= HOUR_MS) return texts.say('wait_minutes', { count: String(Math.ceil(ms / MINUTE_MS)) });
  const hours = Math.ceil(ms / HOUR_MS);
  return hours === 1 ? texts.say('wait_hour') : texts.say('wait_hours', { count: String(hours) });
}

/**
 * The key of the budget (AGENT_DAILY_TOKENS) that a run uses. A known person has one budget for all channels. Otherwise
 * the budget belongs to the verified user of the platform, or to the client address.
 */
export function budgetKey(sender: {
  person: PersonKey | null;
  channel: { name: string; has_platform: boolean };
  user_id: string;
  /** Null if the message came from a platform. */
  address: string | null;
}): string {
  if (sender.person !== null) return sender.person;
  // A person's key is a JSON list, so the three kinds of keys never collide.
  if (sender.channel.has_platform) return `${sender.channel.name}:${sender.user_id}`;
  return `address ${sender.address}`;
}

const BYTES_PER_TOKEN = 4;

/** The approximate number of tokens of a text, by the usual rule of four bytes per token. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}
