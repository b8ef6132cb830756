import { Readable } from 'node:stream';
import { withCertificateAdvice } from '../cli-error.ts';
import { readAnswerText } from '../running-daemon.ts';

export type CheckOutcome = 'ok' | 'warning' | 'failed' | 'skipped';

/** The result of a check: a line of `agentd doctor`. */
export interface Finding {
  check: string;
  outcome: CheckOutcome;
  /** What was found, or why the check was skipped. */
  detail: string;
  /** What to do, as a sentence, if something needs to be done. */
  advice?: string;
}

type Create = (detail: string, advice?: string) => Finding;

export function createFindings(check: string): Record<CheckOutcome, Create> {
  const create =
    (outcome: CheckOutcome): Create =>
    (detail, advice) => ({
      check,
      outcome,
      detail,
      ...(advice === undefined ? {} : { advice: withCertificateAdvice(advice, detail) }),
    });
  return {
    ok: create('ok'),
    warning: create('warning'),
    failed: create('failed'),
    skipped: create('skipped'),
  };
}

/** How long another machine may take to answer, ms. */
const ANSWER_MS = 10_000;

/** The time of another machine, and the time of this machine at the same moment, ms since the epoch. */
interface ClockReading {
  whose: string;
  theirs: number;
  ours: number;
}

/** Sends requests to other machines, with a timeout, and records their clocks. */
export class ProbeClient {
  readonly readings: ClockReading[] = [];
  /** The machines that gave any answer. */
  readonly answered = new Set<string>();

  /** Like the global `fetch`, with a timeout unless a signal is given. */
  fetchFor(whose: string): typeof fetch {
    return async (input, init) => {
      const response = await fetch(input, { signal: AbortSignal.timeout(ANSWER_MS), ...init });
      this.answered.add(whose);
      const theirs = Date.parse(response.headers.get('Date') ?? '');
      // A cached answer has the time at which it was cached.
      if (!Number.isNaN(theirs) && !response.headers.has('Age'))
        this.readings.push({ whose, theirs, ours: Date.now() });
      return response;
    };
  }
}

/** The text of an answer; null if it is too long. */
export async function readText({ body }: Response): Promise<string | null> {
  try {
    return await readAnswerText(body ?? Readable.from([]));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Why there was no answer. Does not use the message of the error, which may quote the request. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'it cannot be reached';
  if (error.name === 'TimeoutError') return `it did not answer within ${ANSWER_MS / 1000} seconds`;
  const { code } = (error.cause ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^\w{1,64}$/.test(code)
    ? `it cannot be reached: ${code}`
    : 'it cannot be reached';
}

const clock = createFindings('clock');
/** Maximum difference, ms. With a larger difference, tokens and signatures are refused because of their timestamps. */
const OFF_MAX = 60_000;

/** Checks whether the clock of this machine agrees with the clocks of the machines that answered. */
export function checkClock(readings: readonly ClockReading[]): Finding[] {
  const latest = new Map(readings.map((reading) => [reading.whose, reading]));
  if (latest.size === 0) return [clock.skipped('no other machine reported its time')];
  const off = [...latest.values()].filter(({ theirs, ours }) => Math.abs(theirs - ours) > OFF_MAX);
  if (off.length === 0) return [clock.ok(`same as ${[...latest.keys()].sort().join(', ')}`)];
  return off.map(({ whose, theirs, ours }) =>
    clock.warning(
      `${Math.round(Math.abs(ours - theirs) / 1000)} seconds ${ours > theirs ? 'ahead of' : 'behind'} ${whose}`,
      'Synchronize the clocks of both machines (NTP): tokens and signatures are valid for a limited time.',
    ),
  );
}
