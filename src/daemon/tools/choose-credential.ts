import type { Secret } from '../settings/secret.ts';
import { type Refusal, refusal, signInNeeded } from './call-outcome.ts';
import type { CredentialChoice } from './downstream/credentials.ts';
import type { Tool } from './tool.ts';

/** The credential of one call. */
export type CallCredential =
  /** `fallback`: whether the call is repeated with default credentials after a 401. */
  | { use: 'user'; token: Secret; fallback: boolean }
  /** `token`: the person's own token, which is exchanged for another one. */
  | { use: 'exchange'; token: Secret }
  /** `because`: why the person's token is not used; null if the policy asks for the default credentials. */
  | { use: 'default'; because: string | null }
  | { use: 'none' };

type Choice = { ok: true; credential: CallCredential } | { ok: false; refusal: Refusal };

/**
 * Chooses the credential of a call by the policy of the tool, the origin of its source, and the person whom the message
 * acts for (agentd-agent(7), "Credentials"). If the origin does not allow the policy, the call is refused. An entry of
 * the configuration file cannot have a policy that its origin does not allow, but a source might return a tool that has
 * such a policy.
 */
export function chooseCredential(tool: Tool, person: CredentialChoice): Choice {
  const { target } = tool.source;
  switch (tool.credentials) {
    case 'none':
      return chosen({ use: 'none' });
    case 'default':
      if (target === null) return chosen({ use: 'none' });
      return target.is_api ? chosen({ use: 'default', because: null }) : notAllowed();
    case 'exchange':
      if (!target?.exchange) return notAllowed();
      if (person.use !== 'user') return { ok: false, refusal: signInNeeded(person.reason) };
      return chosen({ use: 'exchange', token: person.token });
    case 'user':
      if (target !== null && !target.may_see_user_token) return notAllowed();
      if (person.use !== 'user') return { ok: false, refusal: signInNeeded(person.reason) };
      if (target === null) return chosen({ use: 'none' });
      return chosen({ use: 'user', token: person.token, fallback: false });
    case 'user-or-default':
      if (target === null) return chosen({ use: 'none' });
      if (!target.is_api) return notAllowed();
      if (person.use !== 'user') return chosen({ use: 'default', because: person.reason });
      return chosen({ use: 'user', token: person.token, fallback: mayFallBack(tool) });
  }
}

/**
 * Whether the call may be repeated with default credentials. They never act for a person, so only a read without bound
 * parameters may be repeated.
 */
function mayFallBack({ effect, bind }: Tool): boolean {
  return effect === 'read' && Object.keys(bind).length === 0;
}

function chosen(credential: CallCredential): Choice {
  return { ok: true, credential };
}

function notAllowed(): Choice {
  return {
    ok: false,
    refusal: refusal(
      'credentials_not_allowed',
      'This tool is not set up correctly: its credentials may not be sent to its address.',
    ),
  };
}
