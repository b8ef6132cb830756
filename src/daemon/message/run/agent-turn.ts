import type { AgentTurn } from '../../../agent/index.ts';
import type { Claims } from '../../identity/identity.ts';
import { bindTools } from '../../tools/bind-tools.ts';
import type { Services } from '../services.ts';
import type { Runnable } from '../turn.ts';
import { pastExchange } from './history.ts';
import type { Run } from './run.ts';

/** The message and its context, as a runtime gets them. */
export async function agentTurn(
  turn: Runnable,
  services: Pick<Services, 'clock' | 'settings' | 'seal' | 'tools'>,
  { limit: { signal, deadline }, meter, history, state, journal, tools }: Run,
  { confirmed, reportWrites }: Pick<AgentTurn, 'confirmed' | 'reportWrites'>,
): Promise<AgentTurn> {
  const { message, principal } = turn;
  const memories = (await tools.context?.memory?.given(message.text)) ?? [];
  const { user_name, page_url, user_agent, other } = message.metadata;
  return {
    agent: turn.agent,
    text: message.text,
    session_id: turn.session.session_id,
    history: history.turns.map((past) => pastExchange(past, turn, services)),
    summary: history.summary?.text ?? null,
    person: principal.person === null ? null : knownOf(principal.claims),
    principal: principal.person === null ? null : principalOf(principal.claims),
    state: state.forRun(signal),
    sign_in_expired:
      principal.person === null &&
      !principal.expiry_notified &&
      (principal.reason === 'stored_token_expired' || principal.token_reason === 'Token Expired'),
    claimed: {
      ...(user_name === undefined ? {} : { user_name }),
      ...(page_url === undefined ? {} : { page_url }),
      ...(user_agent === undefined ? {} : { user_agent }),
      ...(other === undefined ? {} : { other }),
    },
    speaker: message.user_id,
    shared: message.shared ?? false,
    channel: { name: message.platform, markdown: turn.channel.markdown },
    app_name: services.settings.APP_NAME,
    tools: bindTools(services.tools.tools(), tools),
    confirmed,
    already_done: journal.alreadyDone,
    reportWrites,
    meter,
    memories,
    signal,
    started_at: services.clock.now(),
    deadline,
    log: tools.log,
  };
}

function principalOf({ sub, tenant_id, roles = [] }: Claims): AgentTurn['principal'] {
  return { sub, tenant_id: tenant_id ?? null, roles: [...roles] };
}

function knownOf({ email, name, locale, timezone }: Claims): AgentTurn['person'] {
  return {
    email,
    ...(name === undefined ? {} : { name }),
    ...(locale === undefined ? {} : { locale }),
    ...(timezone === undefined ? {} : { timezone }),
  };
}
