import { wrapLanguageModel } from 'ai';
import type { AgentRuntime, AgentTurn, ModelMeter } from '../../../agent/index.ts';
import { liveClock, wait } from '../../time/clock.ts';
import { AgentFailure } from '../agent.ts';
import type { CallableModel } from './model.ts';
import { modelFailure } from './model-failure.ts';
import { noteFallback } from './refused-calls.ts';

/**
 * The failures for which AGENT_FALLBACK_MODEL is used: the model cannot be reached, or still answers 408, 429 or 5xx
 * after the retries.
 */
const OUTAGES: readonly string[] = ['model_unreachable', 'model_overloaded'];

export interface Models {
  first: CallableModel;
  fallback: CallableModel | null;
}

/**
 * The model that one run asks. Each call is retried; if the first model still fails, the fallback answers this call and
 * the rest of the run. The fallback continues the conversation as it is, so nothing that a tool did is done again.
 * @param options.hasSpoken whether the reader has already seen text of this run; if so, another model must not continue
 * it
 */
export function modelWithFallback(
  { first, fallback }: Models,
  {
    meter,
    hasSpoken,
    ...limit
  }: { meter: ModelMeter; hasSpoken: () => boolean; signal: AbortSignal; deadline: number },
): CallableModel {
  let current = first;
  return wrapLanguageModel({
    model: first,
    middleware: {
      async wrapStream({ params }) {
        const call = () => retryModelCall(() => current.doStream(params), limit);
        try {
          return await call();
        } catch (error) {
          const failure = modelFailure(error);
          if (!fallback || current === fallback || hasSpoken() || !isOutage(failure)) throw error;
          limit.signal.throwIfAborted();
          noteFallback(meter, failure.reason, fallback.modelId);
          current = fallback;
          return call();
        }
      },
    },
  });
}

/**
 * Runs `run`, or `fallback` instead if the model cannot be reached before any text was sent. Does not switch after a
 * call of a tool that writes: the fallback does not know about the call and might repeat it.
 */
export async function* runWithFallback(
  turn: AgentTurn,
  run: AgentRuntime['run'],
  { name, runtime }: { name: string; runtime: AgentRuntime },
): AsyncGenerator<string> {
  let hasSpoken = false;
  let hasWritten = false;
  const tools = turn.tools.map((tool) => ({
    ...tool,
    call(args: unknown) {
      hasWritten ||= tool.effect === 'write';
      return tool.call(args);
    },
  }));
  try {
    for await (const piece of run({ ...turn, tools })) {
      hasSpoken ||= piece.trim() !== '';
      yield piece;
    }
    return;
  } catch (error) {
    if (hasSpoken || hasWritten || !(error instanceof AgentFailure) || !isOutage(error)) throw error;
    turn.signal.throwIfAborted();
    noteFallback(turn.meter, error.reason, name);
  }
  yield* runtime.run(turn);
}

function isOutage({ reason }: AgentFailure): boolean {
  return OUTAGES.includes(reason);
}

/** Maximum number of repeats of one model call. */
const MAX_RETRIES = 3;
/** The wait before the first repeat if the model does not ask for a wait, ms; doubled for each further repeat. */
const FIRST_WAIT_MS = 2000;

/**
 * Repeats a model call that fails for a temporary reason, after the wait that the model asks for, or else after a wait
 * that doubles each time. If the run has less time left than the wait, the call fails immediately. The error contains
 * the wait that the model asked for, if any, so that the inbox or the client knows when to try again.
 * @param deadline of the run, ms since the epoch
 */
export async function retryModelCall<T>(
  call: () => PromiseLike<T>,
  { signal, deadline }: { signal: AbortSignal; deadline: number },
): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await call();
    } catch (error) {
      const { passing, retryAfterSeconds } = modelFailure(error);
      const wait_ms =
        retryAfterSeconds === undefined ? FIRST_WAIT_MS * 2 ** retries : retryAfterSeconds * 1000;
      if (!passing || retries === MAX_RETRIES || Date.now() + wait_ms >= deadline) throw error;
      await wait(liveClock, wait_ms, signal);
    }
  }
}
