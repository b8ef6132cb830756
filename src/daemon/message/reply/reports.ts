import type { ActionReceipt, Receipts } from '../../../channel/index.ts';
import { isBuiltin } from '../../agent/builtin.ts';
import { type Action, isUnknown, SENT_MAX } from '../../store/actions/actions.ts';
import { findClaim } from '../../texts/claims/find-claim.ts';
import type { LocalTexts } from '../../texts/texts.ts';
import { offersWrites } from '../../tools/bind-tools.ts';
import { visible } from '../../tools/confirmation/plain-value.ts';
import { escapeMarkdown, splitName } from '../../tools/confirmation/question.ts';
import type { ShownWrite, TurnJournal } from '../../tools/journal/turn-journal.ts';
import type { ToolRegistry } from '../../tools/registry.ts';
import type { Run } from '../run/run.ts';
import type { RunServices } from '../services.ts';
import type { Runnable } from '../turn.ts';
import type { CarriedOutAll } from './carry-out.ts';

/** What the reports need to know about the turn. */
interface ReportParts {
  texts: LocalTexts;
  tools: Pick<ToolRegistry, 'tools'>;
  /** Whether other people can read the reply. They see titles and outcomes only. */
  shared: boolean;
  /** Whether every write gets a line (RECEIPTS). */
  all: boolean;
}

/**
 * The daemon's own lines about the writes of a turn, from the journal. An agent may say that it did something that it
 * did not do, or not mention something that it did. The lines are CommonMark.
 */
export class WriteReports {
  readonly #journal: Pick<TurnJournal, 'written'>;
  readonly #parts: ReportParts;
  #isAll: boolean;

  constructor(journal: Pick<TurnJournal, 'written'>, parts: ReportParts) {
    this.#journal = journal;
    this.#parts = parts;
    this.#isAll = parts.all;
  }

  /** Called if the agent cannot report the writes: then every write gets a line, whatever RECEIPTS says. */
  reportAll(): void {
    this.#isAll = true;
  }

  /** What the writes did; empty if there are none. */
  get receipts(): readonly ActionReceipt[] {
    return this.#journal.written.map((write) => this.#toReceipt(write));
  }

  /** A line for each write, or only for those whose outcome is unknown; empty if there is nothing to report. */
  lines(): string {
    const reported = this.receipts.filter(({ outcome }) => this.#isAll || outcome === 'unknown');
    const lines = reported.map((receipt) => this.#formatReceipt(receipt));
    return lines.length > 1 ? lines.map((line) => `- ${line}`).join('\n') : lines.join('');
  }

  #toReceipt({ action_id, tool: name, summary, state, status, at }: ShownWrite): ActionReceipt {
    const tool = this.#parts.tools.tools().find((one) => one.name === name);
    const title = visible(tool?.title ?? splitName(name));
    return {
      action_id,
      tool: name,
      title,
      summary: this.#parts.shared ? title : summary,
      outcome: isUnknown({ state }) ? 'unknown' : state === 'done' ? 'done' : 'failed',
      ...(status === null ? {} : { status }),
      at: new Date(at).toISOString(),
    };
  }

  #formatReceipt({ summary, outcome, status }: ActionReceipt): string {
    const { texts } = this.#parts;
    const action = escapeMarkdown(summary);
    if (outcome !== 'failed')
      return texts.say(outcome === 'done' ? 'receipt_done' : 'receipt_unknown', { action });
    return status === undefined
      ? texts.say('receipt_failed', { action })
      : texts.say('receipt_refused', { action, status: String(status) });
  }
}

/** The receipts of a reply. @param begins_at where the lines about them begin; null if there are no lines */
export function toReceipts(actions: readonly ActionReceipt[], begins_at: number | null): Receipts | null {
  if (actions.length === 0) return null;
  return { actions, ...(begins_at === null ? {} : { begins_at }) };
}

const WHY_LEFT_OUT = {
  earlier_action: 'confirm_rest_not_done',
  sign_in: 'confirm_rest_sign_in',
  token_expired: 'confirm_rest_sign_in',
  stopped: 'confirm_rest_stopped',
  changed: 'confirm_rest_sign_in',
} as const;

/** A paragraph for each confirmed action that was not carried out; empty if there is none. */
export function leftOutInWords(done: CarriedOutAll | null, texts: LocalTexts): string {
  const { made = [], left_out = [] } = done ?? {};
  return left_out
    .map(({ summary, cause }) => {
      const isAll = cause === 'changed' && made.length === 0;
      return texts.say(isAll ? 'confirm_changed' : WHY_LEFT_OUT[cause], { action: escapeMarkdown(summary) });
    })
    .join('\n\n');
}

/** A paragraph for each page that a server asks the person to open; empty if there is none. Hosts are in ASCII form. */
export function pagesInWords({ pages }: Pick<Run, 'pages'>, texts: LocalTexts): string {
  return [...pages.values()]
    .map(({ source, url }) => {
      const { host, href } = new URL(url);
      const service = escapeMarkdown(visible(source));
      return texts.say('open_page', { service, host: escapeMarkdown(host), url: `<${href}>` });
    })
    .join('\n\n');
}

/**
 * Whether the agent says that it has changed something, although this run changed nothing: tools that write were offered
 * to the run, but none of them wrote, and no call waits for the person. The claim is unbacked unless `hasWritten`.
 * @param said the text of the agent.
 */
export function mayBeUnbacked(
  said: string,
  turn: Runnable,
  { agent, tools }: Pick<RunServices, 'agent' | 'tools'>,
  run: Run,
): boolean {
  // The builtin agent reports only what tools answer.
  if (isBuiltin(agent)) return false;
  if (run.journal.written.length > 0 || run.calls.hasWritten) return false;
  if (run.desk.hasCalls || turn.open !== null) return false;
  return offersWrites(tools.tools(), run.tools) && findClaim(said) !== null;
}

/** Whether the journal of this session has a write for this principal that was or may have been carried out. */
export async function hasWritten(turn: Runnable, { store }: Pick<RunServices, 'store'>): Promise<boolean> {
  const sent = await store.actions.sentIn(turn.session_tag);
  const mayBeOlder = sent.length === SENT_MAX;
  return mayBeOlder || sent.some((action) => action.state !== 'failed' && isOfPrincipal(action, turn));
}

function isOfPrincipal(action: Action, { principal: { person }, message }: Runnable): boolean {
  if (action.person !== person) return false;
  const { platform, user_id, alias_id = null } = message;
  const isSameUser = action.platform === platform && action.user_id === user_id;
  return person !== null || (isSameUser && action.alias_id === alias_id);
}
