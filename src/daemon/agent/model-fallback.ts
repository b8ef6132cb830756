import { wrapLanguageModel } from 'ai';
import { AgentFailure, type AgentRuntime, type AgentTurn } from './agent.ts';
import { requestContext } from './context.ts';
import type { CallableModel } from './model.ts';
import { modelFailure } from './model-failure.ts';
import { retryModelCall } from './retry-model-call.ts';

/** What AGENT_FALLBACK_MODEL is for: the model is out of reach, or answers 408, 429 or 5xx after its retries. */
const OUTAGES: readonly string[] = ['model_unreachable', 'model_overloaded'];

export interface Models {
  first: CallableModel;
  fallback: CallableModel | null;
}

/**
 * The model that one run asks. Each call is retried; if the first model still fails, the fallback answers this call and
 * the rest of the run. It goes on with the conversation as it is, so nothing that a tool did is done again.
 * @param options.hasSpoken the reader has words of this run already: it must not continue in another voice.
 */
export function modelWithFallback(
  { first, fallback }: Models,
  { hasSpoken, ...limit }: { hasSpoken: () => boolean; signal: AbortSignal; deadline: number },
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
          noteFallback(failure, fallback.modelId);
          current = fallback;
          return call();
        }
      },
    },
  });
}

/**
 * Runs `run`, and `fallback` in its place if its model is out of reach before a word was said. Not after a call of a tool
 * that writes: the fallback knows nothing of it and might do it again.
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
    noteFallback(error, name);
  }
  yield* runtime.run(turn);
}

function isOutage({ reason }: AgentFailure): boolean {
  return OUTAGES.includes(reason);
}

function noteFallback({ reason }: AgentFailure, fallback: string): void {
  requestContext()?.trace.note({ step: 'model', verdict: 'fallback', reason, detail: { fallback } });
}
