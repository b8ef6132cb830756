import type { Tool, ToolArguments } from './tool.ts';

/** Stores calls until the person confirms them (agentd-agent(7), "Confirmation"). */
export interface ConfirmationDesk {
  /**
   * Makes this call the pending action of the session and principal. The action is stored with the turn, whose reply
   * asks the person to confirm it.
   */
  ask(call: CallToConfirm): Promise<Asked>;
}

export interface CallToConfirm {
  tool: Tool;
  /** All arguments, including the bound ones. */
  args: ToolArguments;
}

export type Asked =
  | { outcome: 'waits' }
  /** `message` is a text for the agent, `reason` a stable word for the trace. */
  | { outcome: 'refused'; reason: string; message: string };
