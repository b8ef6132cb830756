import type { ChatMessage } from './chat-checker.ts';
import { CodeChecker } from './code-checker.ts';
import type { Business, Expected, Outcome, Problem, Seen, Spoken, Stopped, WebMessage } from './facts.ts';
import { deedOutcome } from './marks.ts';
import { isCovered, type Person, type SignOut } from './tokens.ts';
import { marksProblems, spoken, wrote } from './verdicts.ts';

/** A question about actions, which one person was asked in one session. */
interface Question {
  session: string;
  user: string;
  person: Person;
  /** The marks of its actions, in order. */
  deeds: readonly string[];
  state: 'open' | 'answered' | 'withdrawn' | 'expired';
  /** Whether the newest reply to this person in this session ended with it. */
  isLast: boolean;
  /** Whether that was so when the moves that happen now began. Null if it was asked since. */
  wasLast: boolean | null;
  /** How many replies to messages that were no answer have repeated it. */
  repeats: number;
}

interface DeedState {
  questions: Question[];
  /** The actions that must have been carried out: each once, for this person. */
  done: { mark: string; person: Person }[];
}

/** How many replies to messages that are no answer a question lasts. The last one withdraws it. */
const REPLIES_MAX = 3;

const NOT_SO: Problem = { kind: 'told', text: 'a stopped answer does not say what it did' };

const NO_BUSINESS: Business = { deeds: [], says: null, press: null };

/** What a message does to a question. */
type Verdict = 'left' | 'withdrawn' | 'sign_in' | 'declined' | 'confirmed';

/** The rules of actions that the person must confirm, and of what the person is told about them. See `Checker`. */
export class DeedChecker extends CodeChecker {
  declare protected state: CodeChecker['state'] & DeedState;

  constructor(...facts: ConstructorParameters<typeof CodeChecker>) {
    super(...facts);
    Object.assign(this.state, { questions: [], done: [] });
  }

  /** The actions that must have been carried out. */
  get done(): readonly { mark: string; person: Person }[] {
    return this.state.done;
  }

  /** Called when moves begin that happen at the same time. */
  begin(): void {
    for (const one of this.state.questions) one.wasLast = one.isLast;
  }

  /** Whether the question about these actions is open, and would be answered by a press of this sender. */
  isOpen(deed: string, session: string, user: string): boolean {
    const found = this.#questionAbout(deed);
    return found?.state === 'open' && found.session === session && found.user === user;
  }

  /** Whether second runs in a private chat are about to ask something. */
  isAboutToAsk(platform: string, user: string): boolean {
    const { queued } = this.state;
    if (![...queued.values()].flat().some(({ business }) => business?.deeds.length)) return false;
    const copy = this.copy();
    copy.runQueued(platform, user);
    return copy.state.questions.length > this.state.questions.length;
  }

  override passHour(): void {
    super.passHour();
    for (const one of this.state.questions) if (one.state === 'open') one.state = 'expired';
  }

  override signOut(signOut: SignOut): void {
    super.signOut(signOut);
    this.#withdraw(({ session: id, person }) => {
      const session = this.state.sessions.find((one) => one.id === id);
      if (session?.bound?.person === person) return isCovered(session.bound.origin, [signOut]);
      return isCovered({ ...this.names.originOf(person), sid: null, iat: null }, [{ ...signOut, sid: null }]);
    });
  }

  /** Checks a press in a web client. Whoever may not answer the question learns nothing, and changes nothing. */
  webPress(sent: WebMessage, seen: Seen): Problem[] {
    const message = { ...sent, presented: this.valid(sent.presented) };
    if (!this.#isGone(message)) return this.message(sent, seen);
    if (seen.marks.length > 0) {
      const text = `the answer to a press that does not count contains ${seen.marks.join(', ')}`;
      return [{ kind: 'leak', text }];
    }
    if (seen.status === 409) this.#endContext(message);
    // A press in another session may begin it, before it turns out that the question is not there.
    return seen.status === 403 || seen.status === 409
      ? []
      : [{ kind: 'not refused', text: `a press that does not count was answered ${seen.status}` }];
  }

  /** Whether the message presses a button whose question does not wait for its sender. */
  #isGone({ business, named, user, presented }: WebMessage): boolean {
    if (business?.press == null) return false;
    const session = this.state.sessions.find(({ id }) => id === named);
    const isOthers = session && presented.kind === 'person' && session.owner !== presented.person;
    return isOthers || presented.kind === 'signed-out' || !this.isOpen(business.press, String(named), user);
  }

  /** The stored context of the session is replaced or cleared before a question is looked for. */
  #endContext({ named, user, presented }: WebMessage): void {
    const session = this.state.sessions.find(({ id }) => id === named);
    if (session && presented.kind !== 'none')
      session.bound = presented.kind === 'person' ? { ...presented, user } : null;
  }

  /** Checks a message whose stream was stopped before its end. The reply asks nothing, and repeats no question. */
  stopped(sent: WebMessage, seen: Seen, { hasRun, hasAnswered, isCarriedOut, calls }: Stopped): Problem[] {
    const message = { ...sent, presented: this.valid(sent.presented) };
    const { business = NO_BUSINESS } = message;
    const isGone = this.#isGone(message);
    if (hasRun && isGone && !this.isRefused(message)) this.#endContext(message);
    const outcome: Outcome = hasRun && !isGone ? this.speak(message) : { refused: true };
    if (outcome.refused) return hasAnswered || isCarriedOut || calls > 0 ? [NOT_SO] : expectNothing(seen);
    const { session, person } = outcome;
    this.learnId(outcome, seen);
    const said = spoken({ ...message, calls }, outcome);
    const here = String(session.id);
    const mine = this.state.questions.filter((one) => one.session === here);
    const open = mine.filter(({ state }) => state === 'open');
    const verdicts = open.map((question) => ({ question, verdict: judge(question, said) }));
    for (const { question, verdict } of verdicts) if (verdict === 'withdrawn') question.state = 'withdrawn';
    const answered = verdicts.find(({ verdict }) => verdict === 'confirmed' || verdict === 'declined');
    if (hasAnswered && !answered) return [NOT_SO];
    const { marks } = this.shownTo(said);
    for (const one of mine) if (one.person === person) one.isLast = false;
    this.count(person, calls);
    const told = [...marks, ...mine.flatMap(({ deeds }) => deeds), ...business.deeds];
    session.turns.push({
      person,
      wrote: wrote(message.mark, business),
      marks: [...new Set([...wrote(message.mark, business), ...seen.marks])].sort(),
    });
    const lines = seen.told?.lines ?? [];
    const problems = marksProblems(
      seen.marks.filter((mark) => !told.includes(mark)),
      [],
    );
    if (!hasAnswered || !answered) return problems.concat(lines.length > 0 || isCarriedOut ? [NOT_SO] : []);
    const { question, verdict } = answered;
    question.state = 'answered';
    return problems.concat(
      verdict === 'declined'
        ? this.#afterStoppedNo(question, lines, isCarriedOut)
        : this.#afterStoppedYes(question, business, lines, isCarriedOut),
    );
  }

  #afterStoppedNo({ deeds }: Question, lines: readonly string[], isCarriedOut: boolean): Problem[] {
    // Whoever declines and stops at once hears nothing.
    const isRight = !isCarriedOut && (lines.length === 0 || lines.join() === notDone(deeds).join());
    return isRight ? [] : [NOT_SO];
  }

  /** Every action must be named with its outcome. */
  #afterStoppedYes(
    { deeds, person }: Question,
    business: Business,
    lines: readonly string[],
    isCarriedOut: boolean,
  ): Problem[] {
    const chosen = confirmedBy(business, deeds);
    const outcomes = new Map(lines.map((line) => [line.slice(0, line.indexOf(' ')), line]));
    let isOver = false;
    let isUsed = !isCarriedOut;
    for (const mark of deeds) {
      const outcome = outcomes.get(mark)?.slice(mark.length + 1);
      if (outcome === undefined)
        return [{ kind: 'told', text: `the stopped reply does not say what became of ${mark}` }];
      if (!chosen.includes(mark)) {
        if (outcome !== 'declined') return [NOT_SO];
        continue;
      }
      if (isOver && outcome !== 'left out') return [NOT_SO];
      if (outcome === 'left out') {
        isOver = true;
        continue;
      }
      const isDone = outcome === 'done';
      const mayBe = outcome === 'unknown' || outcome === deedOutcome(mark);
      if (isDone ? deedOutcome(mark) !== 'done' : !['failed', 'unknown'].includes(outcome)) return [NOT_SO];
      if (isDone || (isCarriedOut && mayBe)) this.state.done.push({ mark, person });
      if (isDone) continue;
      isUsed = true;
      isOver = true;
    }
    return lines.length === deeds.length && isUsed ? [] : [NOT_SO];
  }

  protected override sessionEnded(id: string): void {
    this.#withdraw((one) => one.session === id);
  }

  protected override linkChanged(platform: string, user: string, keep: Person | null): void {
    this.#withdraw(
      (one) => one.user === user && one.session.startsWith(`${platform} `) && one.person !== keep,
    );
  }

  protected override claimed({ platform, user }: Pick<ChatMessage, 'platform' | 'user'>): void {
    this.linkChanged(platform, user, null);
  }

  protected override reply(spoken: Spoken): Expected {
    const { business = NO_BUSINESS, session, person, user } = spoken;
    const here = String(session.id);
    let answered: { question: Question; verdict: Verdict } | null = null;
    for (const question of this.state.questions) {
      if (question.session !== here || question.state !== 'open') continue;
      const verdict = judge(question, spoken);
      if (verdict === 'withdrawn') question.state = 'withdrawn';
      else if (verdict !== 'left' && answered?.verdict !== 'confirmed') answered = { question, verdict };
    }
    switch (answered?.verdict) {
      case 'confirmed':
        return this.#confirmed(spoken, answered.question);
      case 'declined':
        answered.question.state = 'answered';
        return this.#said(spoken, notDone(answered.question.deeds));
      case 'sign_in':
        return this.#said(spoken, [], answered.question);
    }
    const expired = this.state.questions.findLast(
      (one) => one.session === here && one.user === user && one.person === person && one.isLast,
    );
    const isLate = expired?.state === 'expired' && business.press === null;
    return isLate && wordFor(expired, business) !== null ? this.#said(spoken, []) : this.#run(spoken);
  }

  /** An ordinary message: the agent runs. It may ask a question, and an open one is repeated or ends. */
  #run(spoken: Spoken): Expected {
    const { business, session, person, user } = spoken;
    const expected = super.reply(spoken);
    const here = String(session.id);
    const mine = this.state.questions.filter((one) => one.session === here && one.person === person);
    const open = mine.find(({ state }) => state === 'open');
    const deeds = business?.deeds ?? [];
    if (deeds.length > 0 && person !== null) {
      for (const one of mine) one.isLast = false;
      if (open) open.state = 'withdrawn';
      const asked = { session: here, user, person, deeds, state: 'open', isLast: true } as const;
      this.state.questions.push({ ...asked, wasLast: null, repeats: 0 });
      return { ...expected, told: { asks: deeds, lines: open ? withdrawn(open.deeds) : [] } };
    }
    if (!open || open.user !== user) {
      for (const one of mine) one.isLast = false;
      return expected;
    }
    if (!business?.isEarly || open.wasLast !== null) open.repeats += 1;
    if (open.repeats < REPLIES_MAX) {
      open.isLast = true;
      return { ...expected, told: { asks: open.deeds, lines: [] } };
    }
    Object.assign(open, { state: 'withdrawn', isLast: false });
    return { ...expected, told: { asks: [], lines: withdrawn(open.deeds) } };
  }

  #confirmed(spoken: Spoken, question: Question): Expected {
    const { business, session } = spoken;
    const { deeds, person } = question;
    question.state = 'answered';
    question.isLast = false;
    const chosen = confirmedBy(business, deeds);
    const lines = notDone(deeds, chosen);
    const kept = business?.kept;
    if (kept === 'left out')
      return this.#said(spoken, [...lines, ...chosen.map((mark) => `${mark} ${kept}`)]);
    let isOver = false;
    for (const mark of chosen) {
      if (isOver) {
        lines.push(`${mark} left out`);
        continue;
      }
      if (kept === undefined) this.state.done.push({ mark, person });
      const outcome = kept ?? deedOutcome(mark);
      // Others in the thread read what was done, but not with what.
      const isShared = session.kind === 'platform' && String(session.id).includes(' thread ');
      lines.push(`${isShared ? 'order' : mark} ${outcome}`);
      isOver = outcome !== 'done';
    }
    const expected = super.reply(spoken);
    return { ...expected, told: { asks: [], lines } };
  }

  /** A reply of the daemon, without a run. */
  #said(spoken: Spoken, lines: string[], repeated: Question | null = null): Expected {
    const { session, person, mark } = spoken;
    const asks = repeated !== null && repeated.person === person ? repeated.deeds : [];
    for (const one of this.state.questions)
      if (one.session === session.id && one.person === person) one.isLast = one === repeated;
    const told = lines.map((line) => line.split(' ')[0] ?? '');
    const marks = [...new Set([...told, ...asks])].sort();
    session.turns.push({ person, wrote: [], marks });
    return { mark, marks, said: [], person, isRun: false, told: { asks, lines } };
  }

  #withdraw(isMeant: (question: Question) => boolean): void {
    for (const one of this.state.questions) if (one.state === 'open' && isMeant(one)) one.state = 'withdrawn';
  }

  #questionAbout(deed: string): Question | undefined {
    return this.state.questions.findLast(({ deeds }) => deeds[0] === deed);
  }
}

function judge(question: Question, spoken: Spoken): Verdict {
  const { user, person, hasToken, signsOut, business = NO_BUSINESS } = spoken;
  const { press, isEarly } = business;
  const isNamed = press === question.deeds[0];
  if (question.user !== user) return 'left';
  if (signsOut) return 'withdrawn';
  if (question.person !== person && person !== null) return 'withdrawn';
  if (press !== null && !isNamed) return 'left';
  const says = isNamed ? business.says : wordFor(question, business);
  if (says === null) return 'left';
  if (!isNamed && !(isEarly ? question.wasLast : question.isLast)) return 'left';
  if (question.person !== person) return 'sign_in';
  if (says === 'none' || says.length === 0) return 'declined';
  return hasToken ? 'confirmed' : 'sign_in';
}

/** What a message says to a question by its words. Numbers that the question does not have are no answer to it. */
function wordFor({ deeds }: Question, { says }: Business): Business['says'] {
  if (!Array.isArray(says)) return says;
  return deeds.length > 1 && says.every((number) => number <= deeds.length) ? says : null;
}

/** The actions that an answer confirms. */
function confirmedBy(business: Business | undefined, deeds: readonly string[]): string[] {
  const numbers = Array.isArray(business?.says) ? (business.says as readonly number[]) : null;
  return deeds.filter((_deed, at) => numbers === null || numbers.includes(at + 1));
}

/** Nothing was done, and nothing is said. */
function expectNothing({ marks, told }: Seen): Problem[] {
  return marks.length > 0 || told?.lines.length ? [NOT_SO] : [];
}

/** What a reply says about actions that are not carried out. */
function notDone(deeds: readonly string[], confirmed: readonly string[] = []): string[] {
  return deeds.filter((mark) => !confirmed.includes(mark)).map((mark) => `${mark} declined`);
}

function withdrawn(deeds: readonly string[]): string[] {
  return deeds.map((mark) => `${mark} withdrawn`);
}
