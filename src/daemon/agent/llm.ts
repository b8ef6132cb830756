import {
  dynamicTool,
  isStepCount,
  jsonSchema,
  streamText,
  ToolChoiceViolationError,
  type ToolSet,
  wrapLanguageModel,
} from 'ai';
import type { Log } from '../log.ts';
import type { Secret } from '../secret.ts';
import type { Settings } from '../settings/settings.ts';
import { AgentFailure, type AgentRuntime, type AgentTool, type AgentTurn } from './agent.ts';
import { loadInstructions } from './instructions.ts';
import { loadModel, type Model, type ModelSettings } from './model.ts';
import { describeModelError, modelFailure } from './model-failure.ts';
import { conversation, systemPrompt } from './prompt.ts';
import { retryModelCall } from './retry-model-call.ts';

const OUT_OF_STEPS =
  'I did not get to an answer within the steps that I may take. Please ask again, for one thing at a time.';
const FILTERED = 'I cannot answer that.';
const NO_WORDS = 'I have no answer to that. Please put it in other words.';

export type LlmSettings = ModelSettings & Pick<Settings, 'AGENT_MAX_STEPS' | 'AGENT_INSTRUCTIONS'>;

/**
 * The runtime that asks a language model, which may call the tools in between, at most `AGENT_MAX_STEPS`
 * model calls in all. Fails with a coded `AgentFailure` (see model-failure.ts); a reply is never empty.
 * Rejects with a configuration error where the settings name no usable model.
 */
export async function createLlm(settings: LlmSettings, log: Log): Promise<AgentRuntime> {
  const [model, instructions] = await Promise.all([
    loadModel(settings),
    loadInstructions(settings.AGENT_INSTRUCTIONS),
  ]);
  log.info({ model: settings.AGENT_MODEL }, 'agent answers with a language model');
  return {
    apiVersion: 1,
    run: (turn) =>
      converse(turn, {
        model,
        instructions,
        maxSteps: settings.AGENT_MAX_STEPS,
        key: settings.AGENT_API_KEY,
      }),
  };
}

/** Why a model call ended: as the SDK sees it, and in the server's word. */
interface StepEnd {
  finishReason: string;
  rawFinishReason: string | undefined;
}

interface Parts {
  model: Model;
  instructions: string | undefined;
  maxSteps: number;
  /** Never shown, whatever the server says of it. */
  key: Secret | undefined;
}

async function* converse(
  turn: AgentTurn,
  { model, instructions, maxSteps, key }: Parts,
): AsyncGenerator<string> {
  // Ends the model call when the reader of this generator leaves early.
  const left = new AbortController();
  const abortSignal = AbortSignal.any([turn.signal, left.signal]);
  const result = streamText({
    model: retrying(model, { signal: abortSignal, deadline: turn.deadline }),
    instructions: systemPrompt(turn, instructions, new Date()),
    messages: conversation(turn),
    tools: toolSet(turn.tools),
    stopWhen: isStepCount(maxSteps),
    // The last step must be words: a model that would only go on calling tools is held to answer.
    prepareStep: ({ stepNumber }) => (stepNumber === maxSteps - 1 ? { toolChoice: 'none' } : undefined),
    maxRetries: 0,
    abortSignal,
    // Without it the SDK prints the error, with the whole prompt in it. It comes as a part of the stream too.
    onError: ({ error }) => {
      if (!calledToolsAnyway(error)) turn.log.warn(describeModelError(error, key), 'model call failed');
    },
  });

  let said = false;
  let finishReason = 'other';
  let outOfSteps = false;
  try {
    // Steps are paragraphs: what is said before a tool call does not run into what follows it.
    let paragraphEnded = false;
    for await (const part of result.stream) {
      switch (part.type) {
        case 'text-delta':
          if (part.text === '') break;
          yield said && paragraphEnded ? `\n\n${part.text}` : part.text;
          said ||= part.text.trim() !== '';
          paragraphEnded = false;
          break;
        case 'start-step':
          paragraphEnded = true;
          break;
        case 'error':
          if (!calledToolsAnyway(part.error)) throw modelFailure(part.error, key);
          outOfSteps = true;
          break;
        case 'abort':
          turn.signal.throwIfAborted();
          break;
        case 'finish-step':
          if (isIncomplete(part) && !outOfSteps) throw modelFailure(new Error('no finish reason'));
          break;
        case 'finish':
          finishReason = part.finishReason;
          break;
      }
    }
  } catch (error) {
    turn.signal.throwIfAborted();
    throw error instanceof AgentFailure ? error : modelFailure(error, key);
  } finally {
    left.abort();
  }
  turn.signal.throwIfAborted();
  // "Let me look that up" and no more is no answer either.
  if (outOfSteps || finishReason === 'tool-calls') yield said ? `\n\n${OUT_OF_STEPS}` : OUT_OF_STEPS;
  else if (finishReason === 'error') throw modelFailure(new Error('the model ended in an error'));
  else if (!said) yield finishReason === 'content-filter' ? FILTERED : NO_WORDS;
}

/** The SDK's own retries ignore a wait of more than a minute, and do not know the run's deadline. */
function retrying(model: Model, limit: { signal: AbortSignal; deadline: number }): Model {
  return wrapLanguageModel({
    model,
    middleware: { wrapStream: ({ doStream }) => retryModelCall(doStream, limit) },
  });
}

/** The SDK takes a stream that just ends for an answer, if it had any words. */
function isIncomplete({ finishReason, rawFinishReason }: StepEnd): boolean {
  return finishReason === 'other' && rawFinishReason === undefined;
}

/** The last step asks for words, and the model called a tool all the same. */
function calledToolsAnyway(error: unknown): boolean {
  return ToolChoiceViolationError.isInstance(error);
}

/** Arguments are checked by the bound tool itself, whose answer tells the model what to mend. */
function toolSet(tools: readonly AgentTool[]): ToolSet {
  return Object.fromEntries(
    tools.map((tool) => [
      tool.name,
      dynamicTool({
        description: tool.description,
        inputSchema: jsonSchema(tool.parameters),
        execute: async (input) => {
          const answer = await tool.call(input);
          return answer.ok ? answer.result : { error: answer.message };
        },
      }),
    ]),
  );
}
