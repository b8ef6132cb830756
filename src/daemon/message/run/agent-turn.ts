import type { AgentTurn, AlreadyDone, ConfirmedAction } from '../../agent/agent.ts';
import type { RequestContext } from '../../agent/context.ts';
import type { RunMeter } from '../../agent/model-meter.ts';
import type { Claims } from '../../identity/identity.ts';
import type { TimeLimit } from '../../time/time-limit.ts';
import { bindTools } from '../../tools/bind-tools.ts';
import type { ToolRun } from '../../tools/perform-call.ts';
import type { Services } from '../services.ts';
import type { Runnable } from '../turn.ts';
import { pastExchange, type RunHistory } from './history.ts';
import type { KeptCalls, RunState } from './record.ts';

/** The input and the limits of a run. */
export interface Run {
  context: RequestContext;
  limit: TimeLimit;
  meter: RunMeter;
  history: RunHistory;
  /** The calls of this run that later runs get. */
  calls: KeptCalls;
  state: RunState;
}

/** What `composeReply` prepares for a run: the tools, and the writes that this turn has already made. */
export interface Prepared {
  tools: ToolRun;
  confirmed: ConfirmedAction | null;
  already_done: readonly AlreadyDone[];
  reportWrites(): void;
}

/** The message and its context, as a runtime gets them. */
export async function agentTurn(
  turn: Runnable,
  services: Services,
  { limit: { signal, deadline }, meter, history, state }: Run,
  { tools, confirmed, already_done, reportWrites }: Prepared,
): Promise<AgentTurn> {
  const { message, principal } = turn;
  const memories = (await tools.context?.memory?.given(message.text)) ?? [];
  const { user_name, page_url, user_agent, other } = message.metadata;
  return {
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
    already_done,
    reportWrites,
    meter,
    memories,
    signal,
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
