import type { CompletionRequest } from '../support/fake-model.ts';
import { type Company, chosenBy, PARTNER_KEY, type Reaction, type Received, SERVICE } from './company.ts';
import { type Offer, offerOf } from './offers.ts';
import { PAYLOAD_START, type Person } from './persons.ts';
import {
  type ModelCall,
  noncesIn,
  type Rule,
  type Run,
  type Tally,
  textsIn,
  type Violation,
} from './record.ts';

/** The maximum number of model steps of a run (AGENT_MAX_STEPS). */
export const MAX_STEPS = 6;
const MAX_CALLS = 20;
const MAX_EQUAL = 2;

/** Secrets, by name, that must not be in any prompt, reply, log line, trace or file. */
export const CANARIES: Readonly<Record<string, string>> = {
  'the payload of a token': PAYLOAD_START,
  'an exchanged token': '-for-billing',
  'the key of the partner': PARTNER_KEY,
  'the password of the service': SERVICE.password,
};

/** A confirmed call: the call with this nonce may be made once. */
export interface Permit {
  call: ModelCall;
  /** The person whose credential the call must have, or null for the default credential. */
  person: Person | null;
  /** Whether its write has arrived. */
  done: boolean;
}

interface Write {
  offer: Offer;
  run: Run;
  attempt: number;
  /** The step of the model within the run: calls of one step are made at the same time. */
  step: number;
  status: number;
  /**
   * The last status for each idempotency key. If a model makes the same call twice in a run, each call has its own key.
   */
  by_key: Map<string, number>;
}

/** Compares everything that arrives at the servers, and all output, with what the driver knows. */
export class Checker {
  readonly violations: Violation[] = [];
  readonly tally: Tally = {};
  /** Writes that arrived, by their nonce, for comparison with the journal. */
  readonly writes = new Map<string, Write>();
  readonly #calls = new Map<string, ModelCall>();
  readonly #permits = new Map<string, Permit>();
  readonly #company: Company;
  readonly #defaultToken: string;
  /** Returns the person with this e-mail address, or null. */
  readonly #personAt: (email: string) => Person | null;
  readonly #hostileText: (nonce: string) => string;
  readonly #latency: (nonce: string) => number | undefined;
  readonly #until: readonly Rule[] | null;
  readonly #over = Promise.withResolvers<void>();
  /** Nonces of calls whose credential was refused. */
  readonly #refused = new Set<string>();

  constructor(
    company: Company,
    facts: {
      defaultToken: string;
      personAt: (email: string) => Person | null;
      /** Returns the text that a server writes into its answer. */
      hostileText: (nonce: string) => string;
      latency: (nonce: string) => number | undefined;
      until: readonly Rule[] | null;
    },
  ) {
    this.#company = company;
    this.#defaultToken = facts.defaultToken;
    this.#personAt = facts.personAt;
    this.#hostileText = facts.hostileText;
    this.#latency = facts.latency;
    this.#until = facts.until;
  }

  /** Whether all rules are broken that the play is to break. After that, people may wait in vain. */
  get isOver(): boolean {
    return this.#until?.every((wanted) => this.violations.some(({ rule }) => rule === wanted)) === true;
  }

  /** Resolves when the play is over for this reason. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  count(what: string): void {
    this.tally[what] = (this.tally[what] ?? 0) + 1;
  }

  violate(rule: Rule, conversation: number, what: string): void {
    if (rule === 'lost' && this.isOver) return;
    this.violations.push({ rule, conversation, what: what.slice(0, 600) });
    if (this.isOver) this.#over.resolve();
  }

  /** Checks a request to the model before the model answers it. */
  prompt(run: Run, { messages }: Pick<CompletionRequest, 'messages'>): void {
    if (++run.requests > MAX_STEPS)
      this.violate('bounds', run.conversation, `run ${run.number} asks the model ${run.requests} times`);
    this.text('a prompt', JSON.stringify(messages), run.conversation);
  }

  /** Records the calls of a run when the model has answered. */
  answered({ calls }: Run): void {
    for (const call of calls) this.#calls.set(call.nonce, call);
  }

  /** Checks a piece of output. */
  text(place: string, text: string, conversation: number): void {
    for (const [name, canary] of Object.entries(CANARIES))
      if (text.includes(canary)) {
        const at = text.indexOf(canary);
        this.violate(
          'token',
          conversation,
          `${name} is in ${place}: …${text.slice(Math.max(0, at - 80), at + 40)}`,
        );
      }
  }

  /**
   * Checks a question that the daemon showed to the person. Each text that the model chose contains the nonce of its
   * call, so the question must contain the nonce of each of its calls as often as the arguments do.
   * @returns the calls that the question is about, in their order; empty if there are none
   */
  question(text: string, conversation: number): ModelCall[] {
    const nonces = noncesIn(text);
    const items = text.split(/^(?=\d+\. )/m).filter((item) => /^\d+\. /.test(item));
    if (nonces.length === 0 || items.some((item) => noncesIn(item).length === 0)) {
      // No argument of a call has a nonce, so the person does not confirm it.
      this.count('questions without arguments');
      return [];
    }
    const calls = nonces.flatMap((nonce) => this.#calls.get(nonce) ?? []);
    if (calls.length < nonces.length) {
      this.violate('unconfirmed', conversation, `the question is about a call that nobody made: ${text}`);
      return [];
    }
    for (const call of calls) this.#shown(call, text, conversation);
    if (/[\u0000-\u0008\u000b-\u001f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/.test(text))
      this.violate('unconfirmed', conversation, `the question hides characters: ${JSON.stringify(text)}`);
    this.count('questions');
    return calls;
  }

  /** Checks that a question shows every argument of a call. */
  #shown(call: ModelCall, text: string, conversation: number): void {
    const shown = text.split(call.nonce).length - 1;
    const texts = textsIn(call.args);
    const chosen = texts.filter((one) => one.includes(call.nonce)).length;
    const hidden = texts.filter((one) => /^[\w@.-]+$/.test(one) && !text.includes(one));
    if (shown < chosen || hidden.length > 0)
      this.violate(
        'unconfirmed',
        conversation,
        `the question shows ${shown} of ${chosen} arguments: ${text}`,
      );
  }

  /** Records that the person confirms a call. From now on, its write may arrive once. */
  permit(call: ModelCall, person: Person | null): Permit {
    const permit = { call, person, done: false };
    this.#permits.set(call.nonce, permit);
    this.count('confirmed');
    return permit;
  }

  /** Checks a request that a tool made. @returns how the server answers it */
  receive(request: Received, current: (conversation: number) => Run | null): Reaction {
    const { server, method, path, values } = request;
    const line = `${server} ${method} ${path}`;
    this.count(`requests to ${server}`);
    if (server === 'partner' && request.partner_key !== PARTNER_KEY)
      this.violate('credential', -1, `${line} does not have the key of the partner`);
    if (server !== 'partner' && request.partner_key !== null)
      this.violate('credential', -1, `${line} has the key of the partner`);
    const nonces = noncesIn(JSON.stringify([path, values]));
    const [nonce] = nonces;
    const call = nonce === undefined ? undefined : this.#calls.get(nonce);
    const offer = offerOf(server, method, path);
    if (!call) return this.#ownLookUp(request, line, offer);
    const { run } = call;
    const { conversation } = run;
    if (!offer || nonces.length > 1 || offer.tool !== call.tool) {
      this.violate(
        'unlisted',
        conversation,
        `${line} arrived for a call of ${call.tool}: ${JSON.stringify(values)}`,
      );
      return { status: 403, text: '' };
    }
    const now = current(conversation) ?? run;
    const permit = this.#permits.get(call.nonce);
    const person = permit ? permit.person : run.principal;
    const after = this.#latency(call.nonce);
    const reaction = { ...this.#reaction(call, offer), ...(after === undefined ? {} : { after }) };
    this.#checkCredential(request, offer, { call, person }, line);
    if (reaction.status === 401) this.#refused.add(call.nonce);
    this.#checkBound(offer, request, person, conversation, line);
    this.#checkArguments(call, values, conversation, line);
    if (reaction.status !== 401) this.#checkBounds(call, now);
    if (offer.effect === 'write')
      this.#checkWrite(request, { offer, call, permit, now, status: reaction.status });
    return reaction;
  }

  /**
   * Checks that a confirmed action has arrived, or that its reply says otherwise: on a busy machine, the call may run
   * out of time before it is sent.
   */
  expectDone({ call, done }: Permit, { status, text }: { status: number; text: string }): void {
    if (done) return;
    if (isInterrupted(status, text) || / – (?:failed|unknown|left out)/.test(text))
      this.count('confirmed calls that did not arrive, as the person was told');
    else
      this.violate(
        'lost',
        call.run.conversation,
        `${call.tool} ${call.nonce} was confirmed, but never arrived`,
      );
  }

  /**
   * Checks a request that belongs to no call of the model. Only `get_user` without arguments may make it, to look up
   * the person of the token.
   */
  #ownLookUp({ values, authorization }: Received, line: string, offer: Offer | undefined): Reaction {
    const email = textsIn(values).find((text) => text.includes('@')) ?? '';
    const person = this.#personAt(email);
    if (offer?.tool !== 'get_user' || person === null)
      this.violate(
        'unlisted',
        -1,
        `${line} arrived, but belongs to no call of the model: ${JSON.stringify(values)}`,
      );
    else if (authorization !== `Bearer ${person.token}`)
      this.violate(
        'credential',
        -1,
        `${line} looked up ${email} with the credential of ${this.#owner(authorization)}`,
      );
    return { status: 200, text: 'A person.' };
  }

  #reaction({ nonce, run }: ModelCall, offer: Offer): Reaction {
    const text = this.#hostileText(nonce);
    const chance = chosenBy(`reaction ${nonce}`, 100);
    // Only a person's own token is refused. If other credentials were refused, the daemon would obtain new credentials.
    const isOwn = offer.credentials.startsWith('user') && run.principal !== null && offer.server === 'api';
    if (chance < 6 && isOwn && offer.effect === 'read') return { status: 401, text };
    if (chance < 12) return { status: 404, text };
    if (chance < (offer.effect === 'write' ? 28 : 18)) return { status: 500, text };
    if (chance < 31 && offer.method !== 'tools/call') return { status: 302, text };
    return { status: 200, text };
  }

  #checkCredential(
    { authorization }: Received,
    offer: Offer,
    { call, person }: { call: ModelCall; person: Person | null },
    line: string,
  ): void {
    this.count(`credential ${this.#kind(authorization)}`);
    const mayFallBack = person === null || this.#refused.has(call.nonce);
    if (this.#isRight(authorization, offer, person, mayFallBack)) return;
    const whose = person === null ? 'nobody' : person.sub;
    this.violate(
      'credential',
      call.run.conversation,
      `${line} (${offer.credentials}) for ${whose} had the credential of ${this.#owner(authorization)}`,
    );
  }

  #isRight(authorization: string | null, offer: Offer, person: Person | null, mayFallBack: boolean): boolean {
    const isOwn = person !== null && authorization === `Bearer ${person.token}`;
    const isDefault = authorization === `Bearer ${this.#defaultToken}`;
    switch (offer.credentials) {
      case 'none':
        return authorization === null;
      case 'user':
        return isOwn;
      case 'default':
        return isDefault;
      case 'exchange':
        return person !== null && this.#exchangedFor(authorization) === person.token;
      case 'user-or-default':
        // A person's token that got a 401 is replaced by the default token, unless a parameter is bound.
        return isOwn || (isDefault && mayFallBack && offer.bound === null);
    }
  }

  #exchangedFor(authorization: string | null): string | undefined {
    const number = /^Bearer exchanged-(\d+)-for-billing$/.exec(authorization ?? '')?.[1];
    return number === undefined ? undefined : this.#company.exchange.exchanged[Number(number) - 1];
  }

  #kind(authorization: string | null): string {
    if (authorization === null) return 'none';
    if (authorization === `Bearer ${this.#defaultToken}`) return 'default';
    return this.#exchangedFor(authorization) === undefined ? 'own' : 'exchanged';
  }

  #owner(authorization: string | null): string {
    if (authorization === null) return 'nobody';
    const bearer = this.#exchangedFor(authorization) ?? authorization.replace(/^Bearer /, '');
    const payload = Buffer.from(bearer.split('.')[1] ?? '', 'base64url').toString();
    return /"sub":"([^"]*)"/.exec(payload)?.[1] ?? 'somebody unknown';
  }

  #checkBound(
    offer: Offer,
    { path, values }: Received,
    person: Person | null,
    conversation: number,
    line: string,
  ) {
    const [, , body] = Array.isArray(values) ? values : [];
    const bound: Record<NonNullable<Offer['bound']>, () => unknown> = {
      path: () => decodeURIComponent(path.split('/')[2] ?? ''),
      body: () => (body as Record<string, unknown> | null)?.customer,
      argument: () => (values as Record<string, unknown>).customer,
    };
    if (offer.bound === null) return;
    const value = bound[offer.bound]();
    if (value !== person?.sub)
      this.violate(
        'bound',
        conversation,
        `${line} is about ${String(value)}, but was made for ${person?.sub ?? 'nobody'}`,
      );
  }

  /** Checks that the request has the arguments that the model wrote, which are the arguments that the person saw. */
  #checkArguments(
    { args, nonce, tool }: ModelCall,
    values: unknown,
    conversation: number,
    line: string,
  ): void {
    const own = (value: unknown) =>
      textsIn(value)
        .filter((text) => text.includes(nonce))
        .sort();
    const [written, sent] = [JSON.stringify(own(args)), JSON.stringify(own(values))];
    const missing = textsIn(args).filter((text) => !textsIn(values).includes(text));
    if (written !== sent || missing.length > 0)
      this.violate(
        'unconfirmed',
        conversation,
        `${line} of ${tool} sent ${JSON.stringify(values)}, but the model wrote ${JSON.stringify(args)}`,
      );
  }

  #checkBounds(call: ModelCall, run: Run): void {
    run.reached++;
    if (run.reached > MAX_CALLS)
      this.violate('bounds', run.conversation, `run ${run.number} made ${run.reached} calls`);
    const equal = (run.equal.get(call.nonce) ?? 0) + 1;
    run.equal.set(call.nonce, equal);
    if (equal > MAX_EQUAL)
      this.violate(
        'bounds',
        run.conversation,
        `run ${run.number} made the call ${call.nonce} ${equal} times`,
      );
  }

  #checkWrite(
    { key }: Received,
    {
      offer,
      call,
      permit,
      now,
      status,
    }: { offer: Offer; call: ModelCall; permit: Permit | undefined; now: Run; status: number },
  ): void {
    const { conversation } = call.run;
    const { nonce, tool } = call;
    const before = this.writes.get(nonce);
    const by_key = before?.by_key ?? new Map<string, number>();
    const underKey = offer.keyed && key !== null ? by_key.get(key) : undefined;
    const mayRepeat = underKey !== undefined && leavesUnknown(underKey);
    if (key !== null) by_key.set(key, status);
    this.writes.set(nonce, { offer, run: now, attempt: now.attempt, step: now.requests, status, by_key });
    this.count(`writes, ${offer.confirm === 'always' ? 'confirmed' : 'unasked'}`);
    if (offer.keyed && key === null)
      this.violate('repeated', conversation, `${tool} ${nonce} was sent without its key`);
    if (permit) {
      if (permit.done && !mayRepeat)
        this.violate('repeated', conversation, `${tool} ${nonce} was confirmed once, but arrived again`);
      permit.done = true;
      return;
    }
    if (offer.confirm === 'always') {
      this.violate('unconfirmed', conversation, `${tool} ${nonce} arrived, but nobody had confirmed it`);
      return;
    }
    const isRerun = before !== undefined && before.attempt < now.attempt;
    // A 4xx means that nothing was written. A repeat of the call then gets the known outcome without a request. If the
    // model makes the call twice in this run, the second call is a new call.
    const wasRefused = before !== undefined && before.status >= 400 && before.status < 500;
    const isNew = wasRefused && timesMade(nonce, now) > 1;
    if (isRerun && !mayRepeat && !isNew)
      this.violate(
        'repeated',
        conversation,
        `${tool} ${nonce} was already made by an earlier run of its message`,
      );
    const isUnknown = before !== undefined && leavesUnknown(before.status) && before.step < now.requests;
    if (!isRerun && isUnknown && !mayRepeat)
      this.violate('repeated', conversation, `${tool} ${nonce} may have been done, but was sent again`);
    if (before === undefined && now.turn.wrote.has(tool))
      this.violate(
        'unconfirmed',
        conversation,
        `${tool} ${nonce} is another write of a message that was repeated`,
      );
  }
}

/** Whether the answer was interrupted, because the machine starved the daemon for longer than claims live. */
export function isInterrupted(status: number, text: string): boolean {
  return status !== 200 && text.includes('interrupted');
}

/** True if the status does not show whether a write was carried out. Redirects of writes are not followed. */
function leavesUnknown(status: number): boolean {
  return status >= 500 || (status >= 300 && status < 400);
}

/** How often the model made the call in this run. */
function timesMade(nonce: string, { calls }: Run): number {
  return calls.filter((call) => call.nonce === nonce).reduce((sum, { made }) => sum + made, 0);
}
