import type { ConfirmedAction } from '../../../agent/index.ts';
import type { Receipts } from '../../../channel/index.ts';
import { AgentFailure } from '../../agent/agent.ts';
import { StoreUnavailable } from '../../errors.ts';
import { type Action, toQuestionId } from '../../store/actions/actions.ts';
import { ContextEnded } from '../../time/time-limit.ts';
import { mayNeedReport } from '../../tools/bind-tools.ts';
import type { KeptQuestion } from '../../tools/confirmation/desk.ts';
import { confirmationGone } from '../../tools/confirmation/judge-answer.ts';
import type { StepLine } from '../../trace/trace-record.ts';
import { toRunFailure } from '../run/failure.ts';
import { createAgentTurn, type Run } from '../run/run.ts';
import type { RunServices } from '../services.ts';
import type { Answered, OpenQuestion, Runnable } from '../turn.ts';
import { type CarriedOutAll, carryOutAll, NOT_MADE } from './carry-out.ts';
import { askAtEnd, chooseEnd } from './open-question.ts';
import { ReplyText } from './reply-text.ts';
import {
  hasWritten,
  leftOutInWords,
  mayBeUnbacked,
  pagesInWords,
  toReceipts,
  WriteReports,
} from './reports.ts';
import { askForSignIn, mayAskForSignIn } from './sign-in.ts';

/** The answer to the person. The omitted members are known only when the run has ended. */
type Composed = Omit<Answered, 'usage' | 'history' | 'run_record'>;

interface Parts {
  reply: ReplyText;
  reports: WriteReports;
  /** The confirmed actions; null if the message confirms none. */
  done: CarriedOutAll | null;
}

/**
 * Puts the reply together. Its parts, in order: the notice that pending actions were declined; the text of the agent,
 * which knows the outcome of confirmed actions; the confirmed actions that were not carried out; the pages that servers
 * ask the person to open; how to sign in; a line for each write, or that nothing was changed although the agent says so;
 * and the question about the calls that wait for confirmation.
 */
export async function composeReply(
  turn: Runnable,
  services: RunServices,
  run: Run,
  line: StepLine,
): Promise<Composed> {
  const { settlement, texts } = turn;
  const isConfirmed = settlement.confirmed.length > 0 && !isStopped(turn);
  if (isConfirmed) turn.outlet.mustReport?.();
  const done = isConfirmed ? await carryOutAll(settlement, turn, services, run) : null;
  if (done === 'gone') {
    // It was answered, withdrawn or expired after settle-pending found it.
    if (turn.message.confirm && !turn.channel.has_platform) throw confirmationGone();
    return composeWithoutAgent([texts.say('confirm_gone')], turn, null, services);
  }
  if (done === 'token_expired') {
    line.reason = 'confirmation_needs_sign_in';
    const left = { ...turn, open: { actions: listAsked(turn), counts: false } };
    return composeWithoutAgent([texts.say('confirm_sign_in')], left, null, services);
  }
  if (done?.made.length === 0) {
    line.reason = isStopped(turn) ? 'stopped' : 'arguments_changed';
    return composeWithoutAgent(
      [settlement.notice, leftOutInWords(done, texts)],
      turn,
      run.desk.question(),
      services,
    );
  }

  const mayContinue = done !== null || mayAskForSignIn(turn) || services.tools.tools().some(mayNeedReport);
  const reply = new ReplyText(turn.outlet, mayContinue);
  const reports = new WriteReports(run.journal, {
    texts,
    tools: services.tools,
    shared: turn.message.shared ?? false,
    all: services.settings.RECEIPTS,
  });
  if (settlement.notice !== '') reply.begin(settlement.notice);
  const begins_at = reply.text.length;
  await addAnswer({ reply, reports, done }, turn, services, run, line);
  const stopped = isStopped(turn);
  if (stopped) line.reason = 'stopped';
  else if (reply.isFull) line.reason = 'reply_cut';
  line.detail = { ...line.detail, characters: reply.text.length };
  const said = reply.text.slice(begins_at);
  const isUnbacked = mayBeUnbacked(said, turn, services, run) && !(await hasWritten(turn, services));
  if (run.journal.hasUnrecorded) await recordAgain(run, turn, services);
  for (const { action_id } of done?.made ?? []) await run.journal.include(action_id);
  for (const paragraph of [leftOutInWords(done, texts), pagesInWords(run, texts)])
    if (paragraph !== '') reply.add(paragraph);
  const sign_in = stopped ? null : askForSignIn(reply, turn, run, services);
  const end = stopped ? null : chooseEnd(turn, run.desk.question(), services);
  if (end && end.notice !== '') reply.add(end.notice);
  const receipts = addReceipts(reply, reports);
  if (isUnbacked) {
    reply.add(texts.say('nothing_changed'));
    turn.trace.note({ step: 'claim', verdict: 'fallback', reason: 'claim_without_action' });
  }
  const asked = end?.question ? askAtEnd(reply, end.question, turn) : null;
  reply.finish();
  return { reply: reply.text, stopped, open: turn.open, asked, sign_in, receipts };
}

/** The actions of the question that the message answers. */
function listAsked({ settlement: { confirmed }, begun }: Runnable): OpenQuestion['actions'] {
  const id = toQuestionId(confirmed[0] as Action);
  return begun.pending.filter((action) => toQuestionId(action) === id) as [Action, ...Action[]];
}

/** Adds the lines about the writes. @returns the receipts; null if nothing was written */
function addReceipts(reply: ReplyText, reports: WriteReports): Receipts | null {
  const lines = reports.lines();
  if (lines !== '') reply.addEnd(lines);
  return toReceipts(reports.receipts, lines === '' ? null : reply.text.length - lines.length);
}

/**
 * Adds the text of the agent to the reply. If the agent says nothing about its writes, or fails after a confirmed action
 * was carried out, the lines about the writes are the reply: the person must not read that the message failed.
 */
async function addAnswer(
  parts: Parts,
  turn: Runnable,
  services: RunServices,
  run: Run,
  line: StepLine,
): Promise<void> {
  const { reply, reports, done } = parts;
  try {
    if (!isStopped(turn)) await speak(parts, turn, services, run);
    if (reply.hasWords || isStopped(turn) || run.desk.hasCalls) return;
    if (done === null && run.journal.written.length === 0)
      throw new AgentFailure('empty_reply', 'the agent runtime ended without any text');
    reports.reportAll();
  } catch (error) {
    if (done === null || wouldBeLost(turn, services)) throw error;
    line.reason = toRunFailure(error, turn, services, run.limit, line).code;
    line.verdict = 'fallback';
    reply.end();
    reports.reportAll();
  }
}

/** The confirmed actions, as the agent gets them. */
function listConfirmed({ made, left_out }: CarriedOutAll): ConfirmedAction[] {
  return [
    ...made.map(({ told }) => told),
    ...left_out.map(({ tool, summary }) => ({ tool, summary, answer: NOT_MADE })),
  ];
}

/** Passes on the text of the runtime, until the runtime ends, the person stops the answer, or the reply is full. */
async function speak(
  { reply, reports, done }: Parts,
  turn: Runnable,
  services: RunServices,
  run: Run,
): Promise<void> {
  const given = await createAgentTurn(turn, services, run, {
    confirmed_actions: done === null ? [] : listConfirmed(done),
    reportWrites: () => reports.reportAll(),
  });
  run.recorder?.begin(given);
  let pieces: AsyncIterator<string> | null = null;
  let hasEnded = false;
  try {
    pieces = services.agent.run(given)[Symbol.asyncIterator]();
    while (!isStopped(turn) && !reply.isFull) {
      const next = await run.limit.within(pieces.next());
      if (isStopped(turn)) break;
      if (next.done) {
        hasEnded = true;
        reply.end();
        break;
      }
      expectText(next.value);
      run.recorder?.said(next.value);
      reply.push(next.value);
    }
  } catch (error) {
    if (!isStopped(turn)) throw error;
  } finally {
    // A runtime that kept its tools must not act in the message of somebody else.
    run.limit.end(() => ContextEnded.ofRun());
    if (pieces && !hasEnded) leave(pieces, turn, services);
  }
}

/** A runtime in JavaScript may yield anything, which must not become a part of the reply as `[object Object]`. */
function expectText(piece: unknown): void {
  if (typeof piece === 'string') return;
  const kind = typeof piece === 'object' ? 'an object' : String(piece);
  throw new TypeError(`the runtime yielded ${kind} instead of a text`);
}

/** Ends a runtime early. The end is not awaited, because a runtime that does not end must not delay the reply. */
function leave(pieces: AsyncIterator<string>, { request_id }: Runnable, { log }: RunServices): void {
  const end = async () => pieces.return?.();
  end().catch((error: unknown) =>
    log.debug({ request_id, err: error }, 'agent runtime failed while it was being stopped'),
  );
}

/** Whether the person has stopped the answer. */
export function isStopped({ stopped }: Runnable): boolean {
  return stopped?.hasEnded === true;
}

/** Whether the reply can no longer be stored. */
function wouldBeLost({ lost }: Runnable, { stopping }: RunServices): boolean {
  return lost.hasEnded || stopping.aborted;
}

/**
 * A reply of the daemon alone: these paragraphs, and a question, unless the person has stopped the answer.
 * @param kept the question of the run; null if there is none
 */
export function composeWithoutAgent(
  paragraphs: readonly string[],
  turn: Runnable,
  kept: KeptQuestion | null,
  services: RunServices,
): Composed {
  const stopped = isStopped(turn);
  const reply = new ReplyText(turn.outlet, true);
  const end = stopped ? null : chooseEnd(turn, kept, services);
  for (const paragraph of [...paragraphs, end?.notice ?? '']) if (paragraph !== '') reply.add(paragraph);
  const asked = end?.question ? askAtEnd(reply, end.question, turn) : null;
  return { reply: reply.text, stopped, open: turn.open, asked, sign_in: null, receipts: null };
}

/**
 * Records the outcomes that could not be recorded before. If that fails again, the journal shows them as unknown, but
 * the reply still reports them.
 */
async function recordAgain({ journal }: Run, { request_id }: Runnable, { log }: RunServices): Promise<void> {
  try {
    await journal.recordAgain();
  } catch (err) {
    if (!(err instanceof StoreUnavailable)) throw err;
    log.warn({ request_id, err }, 'the outcome of a write could not be recorded');
  }
}
