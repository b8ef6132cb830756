import type { ToolAnswer } from './agent.ts';

/** Which credentials a tool's downstream calls accept (agentd-api(7), "Credentials"). */
export type CredentialPolicy = 'user-or-default' | 'user' | 'default';

/** A tool as it is registered; who it acts for is read from the request context, never from `args`. */
export interface Tool {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  /** Whether it changes something: decides the default policy, and what happens after a crash. */
  effect: 'read' | 'write';
  credentials: CredentialPolicy;
  call(args: Record<string, unknown>): Promise<ToolAnswer>;
}

/** `user-or-default` for tools that read, `user` for tools that change something (agentd-api(7), "Credentials"). */
export function defaultPolicy(effect: Tool['effect']): CredentialPolicy {
  return effect === 'read' ? 'user-or-default' : 'user';
}
