import type { Tool, ToolArguments } from './tool.ts';

/** Keeps calls until their person confirms them (agentd-agent(7), "Confirmation"). */
export interface ConfirmationDesk {
  /**
   * Makes the call the pending action of this session and principal. It is stored, and asked for, with the reply of the
   * turn.
   * @param args as the model filled them in, without the bound ones.
   */
  ask(call: { tool: Tool; args: ToolArguments }): Promise<Asked>;
}

export type Asked =
  | { outcome: 'waits' }
  /** `message` is in words that the agent can use, `reason` a stable word for the trace. */
  | { outcome: 'refused'; reason: string; message: string };
