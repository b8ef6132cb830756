import { dynamicTool, isStepCount, jsonSchema, streamText, ToolChoiceViolationError, type ToolSet } from 'ai';
import type { AgentRuntime, AgentTool, AgentTurn, ToolAnswer } from '../../../agent/index.ts';
import type { Log } from '../../process/log.ts';
import type { Settings } from '../../settings/settings.ts';
import { AgentFailure } from '../agent.ts';
import { createBuiltin } from '../builtin.ts';
import { loadInstructions } from '../instructions.ts';
import { BUILTIN, type ModelSettings } from '../model-servers.ts';
import { conversation, systemPrompt } from '../prompt.ts';
import { BudgetExhausted, meteredModel } from './metered-model.ts';
import { type ChosenModels, loadModels } from './model.ts';
import { describeModelError, modelFailure } from './model-failure.ts';
import { type Models, modelWithFallback, runWithFallback } from './model-fallback.ts';
import { noteEnding, noteRefusedCall, type RunEnding, rewordRefusedCalls } from './refused-calls.ts';
import { summarize } from './summarize.ts';

const OUT_OF_STEPS =
  'I could not finish this within the steps that I am allowed. Please ask again, for one thing at a time.';
const FILTERED = 'I cannot answer that.';
const NO_WORDS = 'I have no answer to that. Please put it in other words.';

/** The SDK's reasons for which an answer of a model may be incomplete. */
const ENDINGS: Readonly<Record<string, RunEnding>> = {
  length: 'output_cut',
  'content-filter': 'content_filtered',
};

export type LlmSettings = ModelSettings &
  Pick<
    Settings,
    | 'AGENT_TEMPERATURE'
    | 'AGENT_MAX_OUTPUT_TOKENS'
    | 'AGENT_HISTORY_TOKENS'
    | 'AGENT_MAX_STEPS'
    | 'AGENT_INSTRUCTIONS'
  >;

/**
 * The runtime that asks a language model, which may call tools before it answers. A run has at most `AGENT_MAX_STEPS`
 * steps: in each step it calls the model once, apart from retries and the change to the fallback model. A run fails
 * with a coded `AgentFailure` (see model-failure.ts), and its reply is never empty. The function rejects with a
 * configuration error if the settings name no usable model.
 * @param given the instructions, if they have been read already
 */
export async function createLlm(
  settings: LlmSettings,
  log: Log,
  given = loadInstructions(settings.AGENT_INSTRUCTIONS),
): Promise<AgentRuntime> {
  const [models, instructions] = await Promise.all([loadModels(settings), given]);
  const { AGENT_MODEL: model, AGENT_FALLBACK_MODEL: fallback } = settings;
  log.info({ model, ...(fallback === undefined ? {} : { fallback }) }, 'agent answers with a language model');
  const run = (turn: AgentTurn) => converse(turn, { models, instructions, settings });
  const builtin = { name: BUILTIN, runtime: createBuiltin() };
  return {
    apiVersion: 1,
    run: fallback === BUILTIN ? (turn) => runWithFallback(turn, run, builtin) : run,
    summarize: (request) =>
      summarize(models.first, request, {
        temperature: settings.AGENT_TEMPERATURE,
        maxOutputTokens: settings.AGENT_MAX_OUTPUT_TOKENS,
        // Twice the limit of the history. This leaves room for the exchanges that did not fit into the history, and for
        // the message that made it exceed the limit.
        tokens: 2 * settings.AGENT_HISTORY_TOKENS,
      }),
  };
}

/** Why a model call ended: the SDK's reason, and the reason in the server's own words. */
interface StepEnd {
  finishReason: string;
  rawFinishReason: string | undefined;
}

interface Parts {
  models: ChosenModels;
  instructions: string | undefined;
  settings: LlmSettings;
}

/** How the model calls of a run have ended. */
interface Ending {
  /** Whether the person has been sent any text. */
  said: boolean;
  finishReason: string;
  /** The model called tools in the last step, which must be text. */
  outOfSteps: boolean;
  /** What to tell the person if a budget is exhausted. */
  exhausted: string | null;
}

async function* converse(turn: AgentTurn, parts: Parts): AsyncGenerator<string> {
  const { keys } = parts.models;
  // Ends the model call if the reader of this generator stops early.
  const left = new AbortController();
  const ending: Ending = { said: false, finishReason: 'other', outOfSteps: false, exhausted: null };
  const result = callModel(turn, parts, AbortSignal.any([turn.signal, left.signal]), () => ending.said);
  try {
    // Steps are paragraphs, so that the text before a tool call does not run into the text after it.
    let paragraphEnded = false;
    for await (const part of result.stream) {
      switch (part.type) {
        case 'text-delta':
          if (part.text === '') break;
          yield ending.said && paragraphEnded ? `\n\n${part.text}` : part.text;
          ending.said ||= part.text.trim() !== '';
          paragraphEnded = false;
          break;
        case 'start-step':
          paragraphEnded = true;
          break;
        case 'tool-call':
          if (part.invalid) noteRefusedCall(turn.meter, part);
          break;
        case 'error':
          if (part.error instanceof BudgetExhausted) ending.exhausted = part.error.message;
          else if (calledToolsAnyway(part.error)) ending.outOfSteps = true;
          else throw modelFailure(part.error, keys);
          break;
        case 'abort':
          turn.signal.throwIfAborted();
          break;
        case 'finish-step':
          if (isIncomplete(part) && !ending.outOfSteps && ending.exhausted === null)
            throw modelFailure(new Error('no finish reason'));
          break;
        case 'finish':
          ending.finishReason = part.finishReason;
          break;
      }
    }
  } catch (error) {
    turn.signal.throwIfAborted();
    throw error instanceof AgentFailure ? error : modelFailure(error, keys);
  } finally {
    left.abort();
  }
  turn.signal.throwIfAborted();
  const notice = conclude(ending, turn, parts.settings.AGENT_MAX_STEPS);
  if (notice !== null) yield ending.said ? `\n\n${notice}` : notice;
}

function callModel(
  turn: AgentTurn,
  { models, instructions, settings }: Parts,
  abortSignal: AbortSignal,
  hasSpoken: () => boolean,
) {
  const { AGENT_MAX_STEPS: maxSteps, AGENT_TEMPERATURE, AGENT_MAX_OUTPUT_TOKENS } = settings;
  return streamText({
    model: modelWithFallback(meteredModels(models, turn.meter), {
      meter: turn.meter,
      hasSpoken,
      signal: abortSignal,
      deadline: turn.deadline,
    }),
    instructions: systemPrompt(turn, instructions, new Date(turn.started_at)),
    messages: conversation(turn, settings.AGENT_HISTORY_TOKENS),
    tools: toolSet(turn.tools),
    ...(AGENT_TEMPERATURE === undefined ? {} : { temperature: AGENT_TEMPERATURE }),
    ...(AGENT_MAX_OUTPUT_TOKENS === undefined ? {} : { maxOutputTokens: AGENT_MAX_OUTPUT_TOKENS }),
    stopWhen: isStepCount(maxSteps),
    // The last step must be text: a model that would continue to call tools is forced to answer.
    prepareStep: ({ stepNumber, messages }) => ({
      messages: rewordRefusedCalls(messages),
      ...(stepNumber === maxSteps - 1 ? { toolChoice: 'none' } : {}),
    }),
    maxRetries: 0,
    abortSignal,
    // Without this, the SDK prints the error, which contains the whole prompt. The error is also a part of the stream.
    onError: ({ error }) => {
      if (!calledToolsAnyway(error) && !(error instanceof BudgetExhausted))
        turn.log.warn(describeModelError(error, models.keys), 'model call failed');
    },
  });
}

/**
 * @returns what the person must be told beside the text of the model; null if that text is the answer
 * @throws AgentFailure if the model ended with an error
 */
function conclude(
  { said, finishReason, ...ending }: Ending,
  turn: AgentTurn,
  maxSteps: number,
): string | null {
  const outOfSteps = ending.outOfSteps || finishReason === 'tool-calls';
  if (ending.exhausted !== null || outOfSteps) turn.reportWrites();
  // Text before a tool call, such as "Let me look that up", is not an answer, so the notice is added.
  if (ending.exhausted !== null) return ending.exhausted;
  if (outOfSteps) {
    noteEnding(turn.meter, 'steps_exhausted', { steps: maxSteps });
    return OUT_OF_STEPS;
  }
  if (finishReason === 'error') throw modelFailure(new Error('the model ended with an error'));
  const reason = ENDINGS[finishReason] ?? (said ? null : 'empty_answer');
  if (reason !== null) noteEnding(turn.meter, reason);
  if (said) return null;
  return reason === 'content_filtered' ? FILTERED : NO_WORDS;
}

function meteredModels({ first, fallback }: ChosenModels, meter: AgentTurn['meter']): Models {
  return { first: meteredModel(first, meter), fallback: fallback && meteredModel(fallback, meter) };
}

/** The SDK treats a stream that ends without a reason as a complete answer if it contained any text. */
function isIncomplete({ finishReason, rawFinishReason }: StepEnd): boolean {
  return finishReason === 'other' && rawFinishReason === undefined;
}

/** The last step asks for text, but the model called a tool anyway. */
function calledToolsAnyway(error: unknown): boolean {
  return ToolChoiceViolationError.isInstance(error);
}

/** The bound tool itself checks the arguments. Its answer says what the model must correct. */
function toolSet(tools: readonly AgentTool[]): ToolSet {
  return Object.fromEntries(
    tools.map((tool) => [
      tool.name,
      dynamicTool({
        description: tool.description,
        inputSchema: jsonSchema(tool.parameters),
        execute: async (input) => {
          const answer = await tool.call(input);
          return toldToModel(answer);
        },
      }),
    ]),
  );
}

/** What the model is told: the result alone, or together with headers of the API that say how to go on. */
function toldToModel(answer: ToolAnswer): unknown {
  const headers = answer.headers === undefined ? {} : { response_headers: answer.headers };
  if (!answer.ok) return { error: answer.message, ...headers };
  return answer.headers === undefined ? answer.result : { result: answer.result, ...headers };
}
