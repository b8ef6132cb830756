import { type ModelMessage, NoSuchToolError } from 'ai';
import type { ModelMeter } from '../../../agent/index.ts';
import { RunMeter } from '../model-meter.ts';

/** The SDK's messages for calls that it could not make, each with its replacement. */
const SDK_WORDS: readonly [RegExp, (found: RegExpMatchArray) => string][] = [
  [
    /unavailable tool '([^']{0,64})/,
    ([, name = '']) => `There is no tool \`${name}\`. Call only the tools that are listed.`,
  ],
  [
    /InvalidToolInputError/,
    () => 'The arguments were not valid JSON, so nothing was called. Send one JSON object.',
  ],
];

/**
 * Replaces the SDK's messages for calls that it did not make: they name classes of the SDK and repeat what the model
 * sent.
 */
export function rewordRefusedCalls(messages: ModelMessage[]): ModelMessage[] {
  return messages.map((message) =>
    message.role === 'tool'
      ? { ...message, content: message.content.map((part) => rewordPart(part)) }
      : message,
  );
}

type ToolPart = Extract<ModelMessage, { role: 'tool' }>['content'][number];

function rewordPart(part: ToolPart): ToolPart {
  if (part.type !== 'tool-result' || part.output.type !== 'error-text') return part;
  const { value } = part.output;
  for (const [pattern, words] of SDK_WORDS) {
    const found = value.match(pattern);
    if (found) return { ...part, output: { type: 'error-text', value: words(found) } };
  }
  return part;
}

/** A name of a tool, as opposed to other texts that a model writes in its place. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** How a run of a model ended, if it did not end with a complete answer. The reasons are stable words for the trace. */
export type RunEnding = 'steps_exhausted' | 'output_cut' | 'content_filtered' | 'empty_answer';

/** Writes to the trace that the run did not end with a complete answer. */
export function noteEnding(meter: ModelMeter, reason: RunEnding, detail?: Record<string, number>): void {
  note(meter, { verdict: 'fallback', reason, ...(detail && { detail }) });
}

/**
 * Writes to the trace that a call of the model could not be made: there is no such tool, or its arguments are not JSON.
 * The line has only names, because the model may have written anything else.
 */
export function noteRefusedCall(
  meter: ModelMeter,
  { toolName, error }: { toolName: string; error?: unknown },
): void {
  const reason = NoSuchToolError.isInstance(error) ? 'unknown_tool' : 'arguments_not_json';
  const named = TOOL_NAME.test(toolName) ? { detail: { tool: toolName } } : {};
  note(meter, { verdict: 'failed', reason, ...named });
}

/** Writes to the trace that another model, or another runtime, answers because of a failure. */
export function noteFallback(meter: ModelMeter, reason: string, fallback: string): void {
  note(meter, { verdict: 'fallback', reason, detail: { fallback } });
}

/** Only the daemon's own meter writes to a trace. The contract of runtimes has nothing like it. */
function note(meter: ModelMeter, line: Parameters<RunMeter['note']>[0]): void {
  if (meter instanceof RunMeter) meter.note(line);
}
