/** How long another machine may take to answer, ms. */
const ANSWER_MS = 10_000;
/** Longest answer that is read, characters. */
const ANSWER_MAX = 1_048_576;

/** What a clock elsewhere said, and what ours said then, ms since the epoch. */
export interface ClockReading {
  /** Whose it is. */
  whose: string;
  theirs: number;
  ours: number;
}

/** Asks other machines, within bounds, and notes what time they have. */
export class Asking {
  readonly readings: ClockReading[] = [];
  /** Who gave any answer. */
  readonly answered = new Set<string>();

  /** Like the global `fetch`, with a time-out unless a signal is given. */
  fetchFor(whose: string): typeof fetch {
    return async (input, init) => {
      const response = await fetch(input, { signal: AbortSignal.timeout(ANSWER_MS), ...init });
      this.answered.add(whose);
      const theirs = Date.parse(response.headers.get('Date') ?? '');
      // An answer that was kept somewhere on the way is as old as that.
      if (!Number.isNaN(theirs) && !response.headers.has('Age'))
        this.readings.push({ whose, theirs, ours: Date.now() });
      return response;
    };
  }
}

/** What an answer says; null where it says more than is read. */
export async function textOf({ body }: Response): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > ANSWER_MAX) return null;
  }
  return text;
}

/** Why there was no answer. Never the error's own words, which may quote the request. */
export function whyNot(error: unknown): string {
  if (!(error instanceof Error)) return 'it cannot be reached';
  if (error.name === 'TimeoutError') return `it did not answer within ${ANSWER_MS / 1000} seconds`;
  const { code } = (error.cause ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^\w{1,64}$/.test(code)
    ? `it cannot be reached: ${code}`
    : 'it cannot be reached';
}
