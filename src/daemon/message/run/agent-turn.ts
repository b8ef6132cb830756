import type { AgentTurn, ConfirmedAction, ToolAnswer } from '../../../agent/index.ts';
import type { Claims } from '../../identity/identity.ts';
import { addLazyMember } from '../../process/lazy-member.ts';
import { bindTools } from '../../tools/bind-tools.ts';
import { recordedSummary } from '../../tools/journal/action-record.ts';
import type { Services } from '../services.ts';
import type { Runnable } from '../turn.ts';
import { pastExchange } from './history.ts';
import type { Run } from './run.ts';

/** The message and its context, as a runtime gets them. */
export async function agentTurn(
  turn: Runnable,
  services: Pick<Services, 'clock' | 'settings' | 'seal' | 'tools'>,
  { limit, meter, history, state, journal, tools }: Run,
  { confirmed_actions, reportWrites }: Pick<AgentTurn, 'confirmed_actions' | 'reportWrites'>,
): Promise<AgentTurn> {
  const { message, principal } = turn;
  const memories = (await tools.context?.memory?.given(message.text)) ?? [];
  const { user_name, page_url, user_agent, other } = message.metadata;
  const given = {
    agent: turn.agent,
    text: message.text,
    session_id: turn.session.session_id,
    history: history.turns.map((past) => pastExchange(past, turn, services)),
    summary: history.summary?.text ?? null,
    person: principal.person === null ? null : toPerson(principal.claims),
    principal: principal.person === null ? null : toPrincipal(principal.claims),
    state: state.forRun(limit),
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
    confirmed: inOne(confirmed_actions),
    confirmed_actions,
    waiting: waitingActions(turn, services),
    already_done: journal.alreadyDone,
    reportWrites,
    meter,
    memories,
    started_at: services.clock.now(),
    deadline: limit.deadline,
    log: tools.log,
  };
  // Many runtimes never ask for it, and a signal that aborts at the end of each run is expensive.
  return addLazyMember(given, 'signal', () => limit.signal);
}

/** The actions that the person is asked to confirm, and has neither confirmed nor declined. */
function waitingActions({ open }: Runnable, { seal }: Pick<Services, 'seal'>): AgentTurn['waiting'] {
  return (open?.actions ?? []).map((action, index) => ({
    number: index + 1,
    tool: action.tool,
    summary: recordedSummary(seal, action),
  }));
}

/** Several actions as one, for runtimes that read only `confirmed`. */
function inOne(actions: readonly ConfirmedAction[]): ConfirmedAction | null {
  const [first] = actions;
  if (first === undefined || actions.length === 1) return first ?? null;
  const answers = actions.map(({ answer }) => answer);
  return {
    tool: first.tool,
    summary: actions.map(({ summary }, index) => `${index + 1}. ${summary}`).join(' '),
    answer: answers.every(({ ok }) => ok)
      ? { ok: true, result: answers.map((answer) => (answer.ok ? answer.result : null)) }
      : { ok: false, message: answers.map(formatAnswer).join(' ') },
  };
}

function formatAnswer(answer: ToolAnswer, index: number): string {
  return `${index + 1}. ${answer.ok ? 'Done.' : answer.message}`;
}

function toPrincipal({ sub, tenant_id, roles = [] }: Claims): AgentTurn['principal'] {
  return { sub, tenant_id: tenant_id ?? null, roles: [...roles] };
}

function toPerson({ email, name, locale, timezone }: Claims): AgentTurn['person'] {
  return {
    email,
    ...(name === undefined ? {} : { name }),
    ...(locale === undefined ? {} : { locale }),
    ...(timezone === undefined ? {} : { timezone }),
  };
}
