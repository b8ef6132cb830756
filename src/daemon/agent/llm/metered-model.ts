import { type LanguageModelMiddleware, wrapLanguageModel } from 'ai';
import type { ModelCallContent, ModelCallResult, ModelMeter } from '../../../agent/index.ts';
import { mapTexts, nestsDeeper } from '../../syntax/json.ts';
import { onAbort } from '../../time/time-limit.ts';
import { estimateTokens, isTokenCount } from '../model-meter.ts';
import { type CallableModel, COMPATIBLE_SERVER, type Model } from './model.ts';
import { modelFailure } from './model-failure.ts';

/**
 * Thrown instead of calling the model if the request does not fit into what is left of the sender's AGENT_DAILY_TOKENS.
 * Its message is for the sender.
 */
export class BudgetExhausted extends Error {}

/** What is heard of an answer. */
type Heard = Omit<ModelCallContent, 'input'>;
type End = (result: ModelCallResult, content: Heard) => Promise<void>;

type WrapStream = NonNullable<LanguageModelMiddleware['wrapStream']>;
type Part = Awaited<ReturnType<WrapStream>>['stream'] extends ReadableStream<infer P> ? P : never;

/** Wraps a model, so that the meter of the run counts each request. */
export function meteredModel(model: Model, meter: ModelMeter): CallableModel {
  return wrapLanguageModel({
    model,
    middleware: {
      async wrapStream({ model: inner, params: given }) {
        const written = JSON.stringify([given.prompt, given.tools ?? []]);
        const params = HALF_CHARACTER.test(written) ? withWholeCharacters(given) : given;
        const prompt_tokens = estimateTokens(written);
        const call = await meter.begin({
          model: model.modelId,
          provider: providerName(model),
          prompt_tokens,
          max_output_tokens: params.maxOutputTokens,
        });
        if (!call.ok) throw new BudgetExhausted(call.message);
        let isOver = false;
        const end: End = (result, content) => {
          if (!isOver) call.content?.({ input: params.prompt, ...content });
          isOver = true;
          return call.end(result);
        };
        const heard = new Listener(end, prompt_tokens, params.abortSignal);
        try {
          const result = await inner.doStream(params);
          return { ...result, stream: ReadableStream.from(heard.listen(result.stream)) };
        } catch (error) {
          await heard.refused(modelFailure(error).reason);
          throw error;
        }
      },
    },
  });
}

/**
 * In JSON, half of a character that has two UTF-16 units. A system that cuts a text may leave one behind. Many model
 * servers refuse a request that contains it, so the run would fail, and with it each later run that is told the text.
 */
const HALF_CHARACTER = /\\ud[89a-f]/;

type Params = Parameters<WrapStream>[0]['params'];

function withWholeCharacters(params: Params): Params {
  const { prompt, tools } = params;
  const repair = <T>(value: T) => mapTexts(value, (text) => text.toWellFormed()) as T;
  return { ...params, prompt: repair(prompt), ...(tools === undefined ? {} : { tools: repair(tools) }) };
}

/**
 * The provider's name in the semantic conventions of OpenTelemetry for generative AI. A server that is compatible with
 * OpenAI counts as OpenAI.
 */
function providerName({ provider }: Model): string {
  const [name = provider] = provider.split('.', 1);
  return name === COMPATIBLE_SERVER ? 'openai' : name;
}

/** Nesting of the arguments of a tool call beyond which they are replaced. A tool accepts less. */
const DEPTH_MAX = 100;
/** Arguments that every tool refuses because of their depth, so that the model is told what is wrong. */
const TOO_DEEP = `{"nested":${'['.repeat(DEPTH_MAX)}${']'.repeat(DEPTH_MAX)}}`;

/** The SDK walks through the arguments with functions that run out of stack, which would end the run. */
function withoutDepth<Call extends { input: string }>(call: Call): Call {
  return nestsDeeper(call.input, DEPTH_MAX) ? { ...call, input: TOO_DEEP } : call;
}

/**
 * Collects the text of a model's answer as it arrives. Reports the end of the call, even if the call fails or is
 * aborted. It may report the end more than once; only the first report counts.
 */
class Listener {
  readonly #began = performance.now();
  readonly #end: End;
  readonly #prompt_tokens: number;
  readonly #ignoreAbort: () => void;
  #first_token_ms: number | undefined;
  #text = '';
  readonly #calls: { tool: string; args: string }[] = [];

  constructor(end: End, prompt_tokens: number, abortSignal: AbortSignal | undefined) {
    this.#end = end;
    this.#prompt_tokens = prompt_tokens;
    this.#ignoreAbort = abortSignal ? onAbort(abortSignal, () => void this.#failed('aborted')) : () => {};
  }

  /** Ends a call to which the model gave no answer. No tokens were used. */
  async refused(failure: string): Promise<void> {
    this.#ignoreAbort();
    await this.#end({ failure, input_tokens: 0, output_tokens: 0 }, { output: '' });
  }

  /** Passes on the parts, unchanged unless a tool call is nested too deeply. The call ends with the last part. */
  async *listen(stream: ReadableStream<Part>): AsyncGenerator<Part> {
    try {
      for await (const sent of stream) {
        const part = sent.type === 'tool-call' ? withoutDepth(sent) : sent;
        if (
          part.type === 'text-delta' ||
          part.type === 'reasoning-delta' ||
          part.type === 'tool-input-delta'
        ) {
          this.#first_token_ms ??= performance.now() - this.#began;
          this.#text += part.delta;
        }
        if (part.type === 'tool-call') this.#calls.push({ tool: part.toolName, args: part.input });
        if (part.type === 'error') await this.#failed(modelFailure(part.error).reason);
        if (part.type === 'finish') await this.#finished(part);
        yield part;
      }
    } catch (error) {
      await this.#failed(modelFailure(error).reason);
      throw error;
    } finally {
      // The reader may stop early.
      await this.#failed('aborted');
      this.#ignoreAbort();
    }
  }

  #finished({ usage, finishReason }: Extract<Part, { type: 'finish' }>): Promise<void> {
    const { inputTokens, outputTokens } = usage;
    const content = { ...this.#content(), finish_reason: finishReason.unified };
    const estimated = this.#estimated();
    if (!isTokenCount(inputTokens.total) || !isTokenCount(outputTokens.total))
      return this.#end(estimated, content);
    const { estimated: _, ...known } = estimated;
    const counted = { input_tokens: inputTokens.total, output_tokens: outputTokens.total };
    return this.#end({ ...known, ...counted }, content);
  }

  #failed(failure: string): Promise<void> {
    return this.#end({ failure, ...this.#estimated() }, this.#content());
  }

  #content(): Heard {
    return { output: this.#text, ...(this.#calls.length === 0 ? {} : { tool_calls: this.#calls }) };
  }

  #estimated(): ModelCallResult {
    return {
      input_tokens: this.#prompt_tokens,
      output_tokens: estimateTokens(this.#text),
      estimated: true,
      ...(this.#first_token_ms === undefined ? {} : { first_token_ms: this.#first_token_ms }),
    };
  }
}
