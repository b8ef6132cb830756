import { AgentFailure } from '../../agent/agent.ts';
import { StoreUnavailable } from '../../errors.ts';
import { ContextEnded } from '../../time/time-limit.ts';
import type { ServerPage } from '../../tools/answer.ts';
import { mayNeedReport } from '../../tools/bind-tools.ts';
import type { ConfirmationDesk } from '../../tools/confirmation/desk.ts';
import { confirmationGone } from '../../tools/confirmation/judge-answer.ts';
import { escapeMarkdown } from '../../tools/confirmation/question.ts';
import type { TurnJournal } from '../../tools/journal/turn-journal.ts';
import type { StepLine } from '../../trace/trace-record.ts';
import { agentTurn, type Prepared, type Run } from '../run/agent-turn.ts';
import { journalOf, toolRunOf } from '../run/context.ts';
import { runFailure } from '../run/failure.ts';
import type { Services } from '../services.ts';
import type { Answered, Runnable } from '../turn.ts';
import { askAtEnd, deskOf } from './ask-at-end.ts';
import { type CarriedOut, carryOut } from './carry-out.ts';
import { ReplyText } from './reply-text.ts';
import { PageList, reportAction, reportWrites } from './reports.ts';

/** The answer to the person. The omitted members are known only when the run has ended. */
type Composed = Omit<Answered, 'usage' | 'history' | 'run_record'>;

/**
 * Puts the reply together. Its parts, in order: the notice that a pending action was declined; the text of the agent,
 * which knows the outcome of a confirmed action; the writes whose outcome is unknown, or all writes if the agent could
 * not report them; the pages that servers ask the person to open; and the question about a call that waits for confirmation.
 */
export async function composeReply(
  turn: Runnable,
  services: Services,
  run: Run,
  line: StepLine,
): Promise<Composed> {
  const { settlement } = turn;
  const desk = deskOf(turn, services);
  const journal = journalOf(turn, services);
  const pages = new PageList();
  const parts = { confirmation: desk, journal, showPage: (page: ServerPage) => pages.add(page) };
  const tools = toolRunOf(turn, services, run, parts);
  let carriedOut: CarriedOut | null = null;
  if (settlement.kind === 'confirmed' && !isStopped(turn)) {
    const done = await carryOut(settlement, turn, services, tools, journal);
    if (done.outcome === 'gone') return noLongerWaits(turn);
    if (done.outcome === 'changed') return askAnew(turn, desk, done.summary, line);
    carriedOut = done;
  }
  const mayContinue = carriedOut !== null || services.tools.tools().some(mayNeedReport);
  const reply = new ReplyText(turn.outlet, mayContinue);
  if (settlement.kind === 'declined') reply.begin(settlement.text);
  let untold = false;
  const prepared = {
    tools,
    confirmed: carriedOut?.told ?? null,
    already_done: journal.alreadyDone,
    reportWrites: () => {
      untold = true;
    },
  };
  let reported: string | null = null;
  try {
    if (!isStopped(turn)) await speak(reply, turn, services, run, prepared);
    if (!reply.hasWords && !isStopped(turn) && desk.kept === null)
      throw new AgentFailure('empty_reply', 'the agent runtime ended without any text');
    if (untold && carriedOut !== null) {
      reply.add(await reportAction(carriedOut, turn, services));
      reported = carriedOut.action_id;
    }
  } catch (error) {
    if (carriedOut === null || wouldBeLost(turn, services)) throw error;
    // The action was carried out, so the person must not read that the message failed.
    line.reason = runFailure(error, turn, services, run.limit, line).code;
    line.verdict = 'fallback';
    reply.end();
    reply.add(await reportAction(carriedOut, turn, services));
    reported = carriedOut.action_id;
  }
  const stopped = isStopped(turn);
  if (stopped) line.reason = 'stopped';
  else if (reply.isFull) line.reason = 'reply_cut';
  line.detail = { ...line.detail, characters: reply.text.length };
  await recordAgain(journal, turn, services);
  const writes = reportWrites(journal, turn.texts, { untold, reported });
  if (writes !== '') reply.add(writes);
  const toOpen = pages.inWords(turn.texts);
  if (toOpen !== '') reply.add(toOpen);
  const asked = stopped ? null : askAtEnd(reply, desk, turn);
  reply.finish();
  return { reply: reply.text, stopped, asked };
}

/**
 * Adds the text of the runtime to the reply, until the runtime ends, the person stops the answer, or the reply is full.
 */
async function speak(
  reply: ReplyText,
  turn: Runnable,
  services: Services,
  run: Run,
  prepared: Prepared,
): Promise<void> {
  const given = await agentTurn(turn, services, run, prepared);
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
      reply.push(next.value);
    }
  } catch (error) {
    if (!isStopped(turn)) throw error;
  } finally {
    // A runtime that kept its tools must not act in the message of somebody else.
    run.limit.end(ContextEnded.ofRun());
    if (pieces && !hasEnded) leave(pieces, turn, services);
  }
}

/** Ends a runtime early. The end is not awaited, because a runtime that does not end must not delay the reply. */
function leave(pieces: AsyncIterator<string>, { request_id }: Runnable, { log }: Services): void {
  const end = async () => pieces.return?.();
  end().catch((error: unknown) =>
    log.debug({ request_id, err: error }, 'agent runtime failed while it was being stopped'),
  );
}

function isStopped({ stopped }: Runnable): boolean {
  return stopped?.aborted === true;
}

/** Whether the reply can no longer be stored. */
function wouldBeLost({ lost }: Runnable, { stopping }: Services): boolean {
  return lost.signal.aborted || stopping.aborted;
}

/**
 * The reply if the action was answered, withdrawn or expired after settle-pending found it. @throws `confirmation_gone`
 * if the person pressed the button in a web client.
 */
function noLongerWaits({ message, channel, texts, outlet }: Runnable): Composed {
  if (message.confirm && !channel.has_platform) throw confirmationGone();
  const reply = texts.say('confirm_gone');
  outlet.text(reply);
  return { reply, stopped: false, asked: null };
}

/**
 * The reply if the sign-in of the person has changed since the question. It repeats the question with the new
 * arguments, if there is a call that can be made.
 */
function askAnew(turn: Runnable, desk: ConfirmationDesk, summary: string, line: StepLine): Composed {
  line.reason = 'arguments_changed';
  const reply = new ReplyText(turn.outlet, true);
  reply.add(turn.texts.say('confirm_changed', { action: escapeMarkdown(summary) }));
  const asked = askAtEnd(reply, desk, turn);
  return { reply: reply.text, stopped: false, asked };
}

/**
 * Records the outcomes that could not be recorded before. If that fails again, the journal shows them as unknown, but
 * the reply still reports them.
 */
async function recordAgain(journal: TurnJournal, { request_id }: Runnable, { log }: Services): Promise<void> {
  try {
    await journal.recordAgain();
  } catch (err) {
    if (!(err instanceof StoreUnavailable)) throw err;
    log.warn({ request_id, err }, 'the outcome of a write could not be recorded');
  }
}
