import {
  type AnyScope,
  type RecordingScope as Recording,
  recordingScope as recording,
} from '../../src/channel/conformance/recording-scope.ts';
import type { ChannelSettings, LinkAnswer } from '../../src/channel/index.ts';
import { AgentdError } from '../../src/daemon/errors.ts';
import { DeliveryFailed } from '../../src/daemon/inbox/outcome.ts';

/** The scope of the conformance suite, with two changes: users can be linked, and it makes the errors of the daemon. */
export interface RecordingScope extends Recording {
  linked: Map<string, string>;
}

/** The only token that the scope accepts for a link. `LINKED` is the answer to it. */
export const GOOD_TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl';
export const LINKED: LinkAnswer = {
  linked: true,
  user_id: 'user-ada',
  email: 'ada@example.com',
  expires_at: Date.UTC(2030, 0, 2, 3, 4, 5),
};

/** @param members replacements for the default members */
export function recordingScope(settings: ChannelSettings, members: Partial<AnyScope> = {}): RecordingScope {
  const linked = new Map<string, string>();
  const scope = recording('a channel', settings, {
    fetch,
    links: {
      async link(user_id, token) {
        if (token !== GOOD_TOKEN) return { linked: false, reason: 'JWT Malformed', held: false };
        linked.set(user_id, token);
        return LINKED;
      },
      takeCode: async () => false,
      unlink: async (user_id) => linked.delete(user_id),
      unlinkPerson: async () => ({ outcome: 'none' }),
    },
    problem: (code, detail, errors) => new AgentdError(code, detail, errors ? { errors } : {}),
    deliveryFailed: (reason, options) => new DeliveryFailed(reason, options),
    ...members,
  });
  return {
    ...scope,
    linked,
    edit: members.edit ?? (async (edited) => scope.edited.push(edited) > 0),
  };
}
