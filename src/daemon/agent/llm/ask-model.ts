import { streamText } from 'ai';
import { BudgetExhausted } from './metered-model.ts';
import { modelFailure } from './model-failure.ts';

type Request = Pick<
  Parameters<typeof streamText>[0],
  'model' | 'instructions' | 'temperature' | 'maxOutputTokens'
> & { content: string; signal: AbortSignal };

/**
 * Asks a model once for a text, without tools. Rejects with a coded failure, with `BudgetExhausted`, or with the reason
 * of the signal.
 */
export async function askModel({ content, signal, ...request }: Request): Promise<string> {
  let failure: unknown = null;
  const result = streamText({
    ...request,
    messages: [{ role: 'user', content }],
    maxRetries: 0,
    abortSignal: signal,
    onError: ({ error }) => {
      failure = error;
    },
  });
  let text = '';
  for await (const piece of result.textStream) text += piece;
  signal.throwIfAborted();
  if (failure !== null) throw failure instanceof BudgetExhausted ? failure : modelFailure(failure);
  return text;
}
