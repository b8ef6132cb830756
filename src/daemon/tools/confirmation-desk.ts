import type { Tool, ToolArguments } from './tool.ts';

/** Keeps calls until their person confirms them (agentd-agent(7), "Confirmation"). */
export interface ConfirmationDesk {
  /**
   * Makes the call the pending action of this session and principal. It is stored, and asked for, with the reply of the
   * turn.
   */
  ask(call: CallToConfirm): Promise<Asked>;
}

export interface CallToConfirm {
  tool: Tool;
  /** As the model filled them in, without the bound ones. */
  args: ToolArguments;
  /** With the bound ones. */
  complete: ToolArguments;
}

export type Asked =
  | { outcome: 'waits' }
  /** `message` is in words that the agent can use, `reason` a stable word for the trace. */
  | { outcome: 'refused'; reason: string; message: string };
