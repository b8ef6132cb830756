import { NoSuchToolError } from 'ai';
import { requestContext } from './context.ts';

/** A name of a tool, as opposed to other texts that a model writes in its place. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** How a run of a model ended, if it did not end with a complete answer. The reasons are stable words for the trace. */
export type RunEnding = 'steps_exhausted' | 'output_cut' | 'content_filtered' | 'empty_answer';

/** Writes to the trace that the run did not end with a complete answer. */
export function noteEnding(reason: RunEnding, detail?: Record<string, number>): void {
  requestContext()?.trace.note({ step: 'model', verdict: 'fallback', reason, ...(detail && { detail }) });
}

/**
 * Writes to the trace that a call of the model could not be made: there is no such tool, or its arguments are not JSON.
 * The line has only names, because the model may have written anything else.
 */
export function noteRefusedCall({ toolName, error }: { toolName: string; error?: unknown }): void {
  const reason = NoSuchToolError.isInstance(error) ? 'unknown_tool' : 'arguments_not_json';
  const named = TOOL_NAME.test(toolName) ? { detail: { tool: toolName } } : {};
  requestContext()?.trace.note({ step: 'model', verdict: 'failed', reason, ...named });
}
