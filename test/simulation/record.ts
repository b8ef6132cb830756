import type { AgentTurn } from '../../src/agent/index.ts';
import type { GuardedMessage, GuardVerdict } from '../../src/daemon/guard/verdict.ts';
import { personKey } from '../../src/daemon/identity/identity.ts';
import { turnKey } from '../../src/daemon/message/keys.ts';
import { agentsReply } from '../../src/daemon/message/run/history.ts';
import type { StoredTurn } from '../../src/daemon/session/session.ts';
import type { SessionClaim } from '../../src/daemon/store/claims/claims.ts';
import { MESSAGE } from '../../src/daemon/store/inbox/inbox-document.ts';
import { SESSION } from '../../src/daemon/store/sessions/session-document.ts';
import type { CommitOutcome, TurnChanges } from '../../src/daemon/store/sessions/turns.ts';
import type { Actor } from './scheduler.ts';
import type { World } from './world.ts';

/** One run of the agent. */
export interface AgentRun {
  number: number;
  label: string;
  history: AgentTurn['history'];
  /**
   * A problem that is reported only if the turn of the run is stored. A run that has lost its session may get outdated
   * data, but its turn cannot be stored.
   */
  doubt?: string;
}

/** A turn that was stored, or that could not be stored because its session had ended. */
export interface Commit {
  /** True if the guard had counted the turn in another session, and has subtracted it there. */
  ranElsewhere?: true;
  label: string;
  /** The person who had signed in, if this is the second run of a message. */
  rerun_for?: string | null;
  session_tag: string;
  /** The key of the turn in the journal of actions. */
  turn_key: string;
  record: StoredTurn;
  outcome: CommitOutcome;
}

/** A message of the channel `chat` that reached a daemon in a known thread. */
export interface Arrival {
  request_id: string;
  /** The actor of the daemon that it reached. */
  at: Actor;
  thread: string;
}

/** Records the input of each run of the agent, the turns that were stored, and the counts of the guard. */
export class RunRecord {
  readonly runs: AgentRun[] = [];
  readonly commits: Commit[] = [];
  readonly arrivals: Arrival[] = [];
  /** How many turns the guard counts, by the tag of the session. */
  readonly counted = new Map<string, number>();
  /** The text of each turn, which has the same messages in all of its runs. */
  readonly #texts = new Map<string, string>();
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  begin(label: string, { history, text }: Pick<AgentTurn, 'history' | 'text'>): AgentRun {
    const run: AgentRun = { number: this.runs.length + 1, label, history };
    const other = this.#texts.get(label) ?? text;
    if (other !== text) this.#world.report(`a turn had the messages "${other}", then "${text}"`);
    this.#texts.set(label, other);
    this.runs.push(run);
    return run;
  }

  /** A name for one run of a daemon, such as `A2`. */
  startOf(actor: Actor): string {
    const starts = [...new Set(this.arrivals.map(({ at }) => at))];
    return `${actor.name}${starts.indexOf(actor) + 1}`;
  }

  /** Answers of a message that were stored. */
  answersOf(label: string): Commit[] {
    return this.commits.filter((commit) => commit.label === label && commit.record.outcome === 'answered');
  }

  /** Call it before a commit. @returns a function to call with the outcome */
  beforeCommit(
    { session_tag }: SessionClaim,
    { session, turn, answer }: TurnChanges,
  ): (outcome: CommitOutcome) => void {
    const { state, scheduler } = this.#world;
    const stored = state.get(SESSION, session_tag);
    const found = stored && stored.session.expires_at > scheduler.now && !session ? stored : null;
    const turns = found ? [...state.items(SESSION, session_tag)] : [];
    const isGenerated = (session ?? found?.session)?.generated ?? false;
    return (outcome) => {
      if (!turn || outcome === 'lost') return;
      const { record } = turn;
      const label = labelOf(record.text);
      if (outcome === 'committed') this.#check(record, turns, isGenerated);
      const rerun = state.get(MESSAGE, record.turn_id)?.message.rerun;
      const turn_key = turnKey({
        turn_id: record.turn_id,
        key: answer?.claim ?? null,
        ...(rerun ? { rerun } : {}),
      });
      this.commits.push({
        ...{ label, session_tag, turn_key, record, outcome },
        ...(rerun ? { rerun_for: rerun.person ?? null } : {}),
      });
      if (rerun && record.person !== rerun.person)
        this.#world.report(`${label} was run again for ${rerun.person}, but acted for ${record.person}`);
    };
  }

  judged({ session_id: session_tag, text }: GuardedMessage, verdict: GuardVerdict): void {
    // A message without a text, such as a press of a button, counts for nothing.
    if (verdict.allowed && !verdict.repeated && text !== null)
      this.counted.set(session_tag, (this.counted.get(session_tag) ?? 0) + 1);
  }

  gaveBack(session_tag: string): void {
    this.counted.set(session_tag, Math.max(0, (this.counted.get(session_tag) ?? 0) - 1));
    const last = this.commits.findLast(({ label }) => label === this.#world.label);
    if (last && last.session_tag !== session_tag) last.ranElsewhere = true;
  }

  #check(record: StoredTurn, before: readonly StoredTurn[], isGenerated: boolean): void {
    const world = this.#world;
    if (before.some(({ turn_id }) => turn_id === record.turn_id))
      world.report(`the turn of "${record.text}" was stored twice`);
    const run = runOf(record, this.runs);
    if (run === null) return;
    if (run.doubt) world.report(run.doubt);
    const { door, signed, person } = world.messageOf(record.text);
    if (signed && record.person !== personKey({ sub: person }))
      world.report(`"${record.text}" was sent with the token of ${person}, but acts for ${record.person}`);
    const isOfPlatform = door === 'post';
    const visible = before
      .filter(({ outcome }) => outcome === 'answered')
      .filter(({ person }) => person === record.person || (person === null && (isOfPlatform || isGenerated)))
      .map((turn) => `${turn.text} → ${agentsReply(turn)}`);
    const shown = run.history.map(({ user, reply }) => `${user} → ${reply}`);
    if (visible.join('\n') === shown.join('\n')) return;
    world.report(
      `the run of "${record.text}" was shown [${shown.join('; ')}], but its session has [${visible.join('; ')}] for it`,
    );
  }
}

/** The run that gave this reply. Null if the run failed, or was stopped before it wrote anything. */
function runOf({ reply }: StoredTurn, runs: readonly AgentRun[]): AgentRun | null {
  const number = /^r(\d+)\b/.exec(reply ?? '')?.[1];
  return number === undefined ? null : (runs[Number(number) - 1] ?? null);
}

/** The label with which the text of a message begins. */
export function labelOf(text: string): string {
  return text.split(' ')[0] ?? '';
}
