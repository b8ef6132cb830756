import type { Agent, Agents } from '../agents/agents.ts';
import { sessionTag } from '../session/session.ts';
import type { StepLine } from '../trace/trace-record.ts';
import { principalKey } from './principal-key.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import type { Answering, Chosen, Locked, Resolved } from './turn.ts';

type Uses = Pick<Services, 'agents' | 'agent' | 'tools' | 'memory'>;
type Turn = Answering & Locked & Resolved;

/**
 * Chooses the agent that answers the message (agentd-agent(7), "Several agents"). From here on, the `agent`, `tools` and
 * `memory` of the services are those of the chosen agent: the services belong to this turn alone (`runTurn`). The
 * session, its history, the limits and the journal are the same for all agents.
 *
 * Adds `agent`, the name, and its digest. Never ends the turn.
 */
export const chooseAgent: Step<Turn, Chosen> = {
  name: 'choose-agent',
  run(turn, services: Uses, line) {
    const chosen = services.agents.choose(collectFacts(turn), identifySender(turn));
    return chosen instanceof Promise
      ? chosen.then((agent) => use(agent, services, line))
      : use(chosen, services, line);
  },
};

function use(chosen: Agent, services: Uses, line: StepLine): Chosen {
  // The services have the runtime and the tools of the last agent from the start.
  if (chosen !== services.agents.last) {
    services.agent = chosen.runtime;
    services.tools = chosen.tools;
  }
  if (!chosen.hasMemory) services.memory = null;
  line.detail = { agent: chosen.name };
  return { agent: chosen.name, agent_digest: chosen.digest() };
}

function collectFacts({ message, principal }: Turn): Parameters<Agents['choose']>[0] {
  const claims = principal.person === null ? null : principal.claims;
  return {
    channel: message.platform,
    tenant_id: claims?.tenant_id ?? null,
    workspace: message.workspace ?? null,
    locale: claims?.locale ?? message.locale ?? null,
  };
}

/** Who belongs to a share: a person, else the verified user of a platform, else the session of a web client. */
function identifySender(turn: Turn): string {
  return principalKey(turn) ?? `session ${sessionTag(turn.session)}`;
}
