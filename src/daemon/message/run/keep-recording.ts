import { runtimeName } from '../../agent/load.ts';
import { closeRecording, maskedCopy } from '../../agent/recording.ts';
import { AgentdError } from '../../errors.ts';
import { sessionTag } from '../../session/session.ts';
import { ClaimLost } from '../../store/failures.ts';
import type { NewRecording } from '../../store/recordings.ts';
import { stringsIn } from '../../syntax/json.ts';
import type { TraceLine } from '../../trace/trace-record.ts';
import type { Services } from '../services.ts';
import type { Answered, Answering, Locked, Resolved } from '../turn.ts';

type Turn = Answering & Partial<Locked & Resolved & Answered>;

/**
 * Stores the recording of a turn that has ended, in the background: a reply never waits for it. `services.running` has
 * the work, so that a daemon that stops waits for it. A recording that cannot be stored is logged and lost.
 * @param error why the turn failed; null if it was answered
 */
export function keepRecording(turn: Turn, error: unknown, services: Services): void {
  // The message runs again, here or elsewhere, or its person was erased.
  if (!turn.recording || turn.lost.hasEnded || error instanceof ClaimLost) return;
  const outcome = error === null ? 'answered' : error instanceof AgentdError ? error.code : 'internal_error';
  const work = store(turn, outcome, services)
    .catch((err: unknown) =>
      services.log.warn({ request_id: turn.request_id, err }, 'the recording of a run could not be stored'),
    )
    .finally(() => services.running.delete(work));
  services.running.add(work);
}

async function store(turn: Turn, outcome: string, services: Services): Promise<void> {
  if (!turn.recording) return;
  const { recording, session, principal, message, turn_id, request_id } = turn;
  const { seal, settings, secrets, log } = services;
  const warnings = listWarnings(turn.trace.finished());
  const run = recording.recorder.end({
    agent_digest: turn.agent_digest,
    ...(principal?.person ? { claims: stringsIn(principal.claims) } : {}),
    turn_id,
    request_id,
    runtime: runtimeName(settings),
    reply: turn.reply ?? null,
    outcome,
    warnings,
  });
  if (!run || !session || !principal) return;
  if (seal.marks.length === 0) throw new Error('there is no key to seal it with');
  const past = recording.history;
  const stored: NewRecording = {
    turn_id,
    request_id,
    message_id: message.message_id ?? null,
    platform: message.platform,
    session_id: session.session_id,
    session_tag: sessionTag(session),
    turns: [turn_id, ...past.map((one) => one.turn_id)],
    users: unique([message.user_id, message.alias_id ?? null, ...past.map(({ user_id }) => user_id)]),
    persons: unique([principal.person, ...past.map(({ person }) => person)]),
    provisional: settings.RECORD_RUNS === 'flagged' && outcome === 'answered' && warnings.length === 0,
    content: await closeRecording(seal, maskedCopy(run, secrets)),
  };
  const kept = await services.store.recordings.keep(stored);
  if (kept !== 'kept') log.debug({ request_id, reason: kept }, 'the recording of a run was not stored');
}

function unique<T>(values: readonly (T | null)[]): T[] {
  return [...new Set(values.filter((value) => value !== null))];
}

/** Reasons of calls that are not defects: the person must do something first. */
const ORDINARY: readonly (string | undefined)[] = ['sign_in_needed', 'no_token', 'claim_missing', 'stopped'];

/** The reasons for which somebody should look at the run although it was answered. */
function listWarnings(lines: readonly TraceLine[]): string[] {
  const reasons = lines.flatMap(({ step, verdict, reason = verdict }) => {
    const isCall = step === 'tool' || step === 'downstream';
    const isWarning =
      verdict === 'failed' ||
      (step === 'model' && verdict !== 'ok') ||
      reason === 'reply_cut' ||
      reason === 'claim_without_action';
    return isWarning && !(isCall && ORDINARY.includes(reason)) ? [reason] : [];
  });
  return [...new Set(reasons)];
}
