import { ChatMoves } from './chat-moves.ts';
import { ConnectionLost } from './connection.ts';
import { DeedChecker } from './deed-checker.ts';
import { DeedMoves } from './deed-moves.ts';
import type { Problem } from './facts.ts';
import type { History, Move } from './histories.ts';
import { dataMark } from './marks.ts';
import { Stage } from './stage.ts';
import { EVERYBODY, nameOf, PERSONS, type Person, subOf, tenantOf } from './tokens.ts';
import { WebMoves } from './web-moves.ts';
import type { World } from './world.ts';

export interface Played {
  problems: readonly Problem[];
  /** The index of the move that showed the problem, or -1 if only the whole history showed it. */
  at: number;
  /** What the marks in the problems stand for. */
  meanings: ReadonlyMap<string, string>;
  /**
   * Why the history says nothing: the machine starved this process, so that a connection or a claim was lost. Null if
   * it counts.
   */
  void: string | null;
}

/** Compares one operation with the rules. Concurrent operations are tried in every order. */
export interface Judge {
  (checker: DeedChecker): Problem[];
  /** Other possible results of an operation that was cut off. No order of complete operations explains them. */
  orElse?: readonly Judge[];
}

/** Waits until all other histories of the batch have ended or have reached the same point. */
type Interval = () => Promise<'restart' | 'hour'>;

/**
 * Plays a history, and compares each answer with the rules. Stops at the first problem.
 * @param number identifies the history in this world, and is part of the names of its people
 */
export async function play(
  world: World,
  history: History,
  number: number,
  interval: Interval,
): Promise<Played> {
  const player = new Player(world, number, history);
  try {
    for (const [at, move] of history.moves.entries()) {
      const problems = move.do === 'interval' ? player.pass(await interval()) : await player.make(move);
      if (problems.length > 0) return player.found(problems, at);
    }
    return player.found(player.audit(), -1);
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
    return { problems: [], at: -1, meanings: player.meanings, void: error.message };
  } finally {
    world.forget(number, player.chats.all);
  }
}

class Player {
  readonly #stage: Stage;
  readonly #chats: ChatMoves;
  readonly #deeds: DeedMoves;
  readonly #web: WebMoves;
  /** The number of lost claims when the history began. */
  readonly #lostClaims: number;
  /** The possible states. There may be several, because the order of concurrent moves is unknown. */
  #states: DeedChecker[];

  constructor(world: World, number: number, { hasCookie, renewals }: History) {
    const stage = new Stage(world, number);
    this.#stage = stage;
    this.#lostClaims = world.lostClaims;
    this.#chats = new ChatMoves(stage, (ask) => this.#states.some(ask));
    this.#web = new WebMoves(stage);
    this.#deeds = new DeedMoves(stage, this.#chats.chats);
    for (const [person, how] of renewals) world.callsOf(number).renewals.set(person, how);
    const names = {
      nameOf: (person: Person) => nameOf(number, person),
      dataOf: (person: Person) => dataMark(number, person),
      originOf: (person: Person) =>
        person === 'tenant'
          ? { sub: subOf(number, 'victim'), tenant: tenantOf(number) }
          : { sub: subOf(number, person), tenant: null },
    };
    const mayAct = (platform: string, user: string, person: Person) => stage.mayAct(platform, user, person);
    this.#states = [new DeedChecker(names, renewals, mayAct)];
    for (const person of EVERYBODY) stage.meanings.set(dataMark(number, person), `the ${person}'s data`);
    stage.meanings.set(dataMark(number, 'tenant'), "the data of the attacker's person at the other tenant");
    if (!hasCookie) return;
    const { victim } = stage.actors;
    victim.cookies = [{ token: victim.token('own', 0), ends: 1, isPlanted: false }];
  }

  get meanings(): ReadonlyMap<string, string> {
    return this.#stage.meanings;
  }

  /** A message whose claim was lost may have been processed twice, or in part. */
  found(problems: Problem[], at: number): Played {
    const isVoid = problems.length > 0 && this.#stage.world.lostClaims > this.#lostClaims;
    const reason = isVoid ? 'a claim was lost' : null;
    return { problems: isVoid ? [] : problems, at, meanings: this.meanings, void: reason };
  }

  get chats(): ChatMoves['chats'] {
    return this.#chats.chats;
  }

  async make(move: Move): Promise<Problem[]> {
    const stage = this.#stage;
    stage.isConcurrent = move.do === 'race';
    const moves = move.do === 'race' ? move.moves : [move];
    stage.hasSignOut = moves.length > 1 && moves.some(({ do: is }) => is === 'sign-out');
    for (const state of this.#states) state.begin();
    let problems = this.#judge(await Promise.all(moves.map((one) => this.#act(one))));
    stage.isConcurrent = false;
    stage.world.callsOf(stage.number).signOuts.push(...stage.signedOut.splice(0));
    if (problems.length > 0) return problems;
    for await (const probe of this.#chats.probes()) {
      problems = this.#judge([probe]);
      if (problems.length > 0) return problems;
    }
    return [];
  }

  pass(what: 'restart' | 'hour'): Problem[] {
    if (what === 'restart') return [];
    for (const state of this.#states) state.passHour();
    this.#stage.hour += 1;
    return [];
  }

  /** Checks at the end how often each person's token was used, and which actions were carried out. */
  audit(): Problem[] {
    const { byPerson, deeds, refused, afterSignOut } = this.#stage.world.callsOf(this.#stage.number);
    const problems = this.#states.map((state) => [
      ...deedProblems(deeds, state.done),
      ...PERSONS.flatMap((person): Problem[] => {
        const [seen, expected] = [byPerson.get(person) ?? 0, state.calls.get(person) ?? 0];
        const text = `the business API was called ${seen} times as ${person}, but should have been called ${expected} times`;
        return seen === expected ? [] : [{ kind: 'identity', text }];
      }),
    ]);
    const accepted = problems.find((found) => found.length === 0) ?? problems[0] ?? [];
    return [
      ...accepted,
      ...this.#deeds.audit(),
      ...afterSignOut.map(
        (person): Problem => ({
          kind: 'identity',
          text: `a token of the ${person} was used after the sign-out`,
        }),
      ),
      ...refused.map(
        (): Problem => ({ kind: 'identity', text: 'the business API got a token that belongs to nobody' }),
      ),
    ];
  }

  /**
   * Operations in one list happened in the order of the list. Operations in different lists may have happened in any
   * order.
   */
  #judge(lists: readonly (readonly Judge[])[]): Problem[] {
    let first: Problem[] | null = null;
    const accepted = new Map<string, DeedChecker>();
    const isCertain =
      lists.length === 1 &&
      this.#states.length === 1 &&
      lists[0]?.every(({ orElse }) => orElse === undefined);
    for (const state of this.#states) {
      for (const order of [...interleavings(lists)].flatMap((order) => [...alternatives(order)])) {
        const checker = isCertain ? state : state.copy();
        const problems = problemsIn(order, checker);
        if (problems.length === 0) accepted.set(isCertain ? '' : checker.fingerprint, checker);
        else first ??= problems;
      }
    }
    if (accepted.size === 0) return first ?? [];
    this.#states = [...accepted.values()];
    return [];
  }

  async #act(move: Move): Promise<Judge[]> {
    switch (move.do) {
      case 'say':
      case 'open':
      case 'stop':
      case 'lure':
      case 'plant':
        return this.#web.act(move);
      case 'order':
      case 'decide':
        return this.#deeds.act(move);
      case 'race':
      case 'interval':
        throw new Error(`a ${move.do} within a race`);
      default:
        return this.#chats.act(move);
    }
  }
}

/** Returns the problems of the first operation that has problems. */
function problemsIn(order: readonly Judge[], checker: DeedChecker): Problem[] {
  for (const judge of order) {
    const problems = judge(checker);
    if (problems.length > 0) return problems;
  }
  return [];
}

type Deed = { mark: string; person: Person };

function deedProblems(seen: readonly Deed[], expected: readonly Deed[]): Problem[] {
  const [is, should] = [seen, expected].map((deeds) =>
    deeds
      .map(({ mark, person }) => `${mark} for the ${person}`)
      .sort()
      .join(', '),
  );
  if (is === should) return [];
  const text = `carried out: ${is || 'nothing'}; must have been carried out: ${should || 'nothing'}`;
  return [{ kind: 'identity', text }];
}

/** All combinations of the possible outcomes of the operations in one order. */
function* alternatives([first, ...rest]: readonly Judge[]): Generator<Judge[]> {
  if (first === undefined) {
    yield [];
    return;
  }
  for (const others of alternatives(rest)) {
    for (const one of [first, ...(first.orElse ?? [])]) yield [one, ...others];
  }
}

/** All possible orders of the operations of several lists. */
function* interleavings<T>(lists: readonly (readonly T[])[]): Generator<T[]> {
  const left = lists.filter((list) => list.length > 0);
  if (left.length === 0) {
    yield [];
    return;
  }
  for (const [at, list] of left.entries()) {
    const [first, ...rest] = list;
    const others = left.map((one, index) => (index === at ? rest : one));
    for (const order of interleavings(others)) yield [first as T, ...order];
  }
}
