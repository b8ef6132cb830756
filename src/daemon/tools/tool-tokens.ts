import { estimateTokens } from '../agent/estimate-tokens.ts';
import { largestArguments } from './largest-arguments.ts';
import type { Tool } from './tool.ts';

/** Above these numbers, models refuse the tools or choose among them badly, and each call of the model costs more. */
const MAX_TOOLS = 128;
const MAX_TOKENS = 16_000;
const MAX_TOKENS_OF_ONE = 4_000;

const LIST = new Intl.ListFormat('en-US');

type Defined = Pick<Tool, 'name' | 'description' | 'parameters'>;

/** The approximate number of tokens of the definition of a tool, which is part of every call of the model. */
export function toolTokens({ name, description, parameters }: Defined): number {
  return estimateTokens(JSON.stringify({ name, description, parameters }));
}

/** Warnings for administrators about tools that are too many or too large for many models. */
export function toolWarnings(tools: readonly Defined[]): string[] {
  const warnings: string[] = [];
  const all = tools.reduce((sum, tool) => sum + toolTokens(tool), 0);
  if (tools.length > MAX_TOOLS)
    warnings.push(
      `the agent has ${tools.length} tools; many models accept at most ${MAX_TOOLS}, so list fewer under \`tools\``,
    );
  if (all > MAX_TOKENS)
    warnings.push(
      `the definitions of all tools have about ${all} tokens, which are part of every call of the model; list fewer under \`tools\`, so that there are at most ${MAX_TOKENS}`,
    );
  for (const tool of tools) {
    const tokens = toolTokens(tool);
    if (tokens > MAX_TOKENS_OF_ONE)
      warnings.push(
        `the definition of the tool ${tool.name} has about ${tokens} tokens; more than ${MAX_TOKENS_OF_ONE} are too many for one tool; ${whatIsLarge(tool)}list an operation with fewer arguments, bind those that come from the token, or write a module that takes only what the agent needs`,
      );
  }
  return warnings;
}

function whatIsLarge({ parameters }: Defined): string {
  const named = largestArguments(parameters).map(({ name, tokens }) => `\`${name}\` (about ${tokens})`);
  return named.length === 0 ? '' : `the largest arguments are ${LIST.format(named)}; `;
}
