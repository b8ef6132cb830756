import type { Tool, ToolArguments } from './tool.ts';

/** Keeps calls until their person confirms them (agentd-agent(7), "Confirmation"). */
export interface ConfirmationDesk {
  /**
   * Makes the call the pending action of this session and principal. The action is stored with the reply of the turn,
   * which asks the person to confirm it.
   */
  ask(call: CallToConfirm): Promise<Asked>;
}

export interface CallToConfirm {
  tool: Tool;
  /** The arguments as the model filled them in, without the bound ones. */
  args: ToolArguments;
  /** The arguments with the bound ones. */
  complete: ToolArguments;
}

export type Asked =
  | { outcome: 'waits' }
  /** `message` is a text for the agent, `reason` a stable word for the trace. */
  | { outcome: 'refused'; reason: string; message: string };
