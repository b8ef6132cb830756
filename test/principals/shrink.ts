import type { Finding } from './check-histories.ts';
import type { History, Move } from './histories.ts';
import type { Played } from './play.ts';

/** Plays a history again, with new people. */
type PlayAgain = (history: History) => Promise<Played>;

/** How often a history with concurrent moves is played before it counts as harmless. */
const TRIES = 4;

/**
 * Removes and simplifies moves as long as the history still shows a problem of the same kind. @returns the shortest
 * history
 */
export async function shrink({ history, played }: Finding, playAgain: PlayAgain): Promise<Finding> {
  const wanted = played.problems[0]?.kind;
  let best: Finding = { history: upTo(history, played.at), played };
  for (let isShorter = true; isShorter; ) {
    isShorter = false;
    for (const candidate of simpler(best.history)) {
      const found = await showsAgain(candidate);
      if (found === null) continue;
      best = { history: upTo(candidate, found.at), played: found };
      isShorter = true;
      break;
    }
  }
  return best;

  async function showsAgain(candidate: History): Promise<Played | null> {
    const tries = candidate.moves.some((move) => move.do === 'race') ? TRIES : 1;
    for (let tried = 0; tried < tries; tried++) {
      const found = await playAgain(candidate);
      if (found.problems[0]?.kind === wanted) return found;
    }
    return null;
  }
}

function upTo(history: History, at: number): History {
  return at < 0 ? history : { ...history, moves: history.moves.slice(0, at + 1) };
}

/** Yields slightly simpler histories, with the shortest histories first. */
function* simpler(history: History): Generator<History> {
  const { moves } = history;
  for (const [at, move] of moves.entries()) {
    yield { ...history, moves: moves.toSpliced(at, 1) };
    if (move.do !== 'race') continue;
    for (const one of move.moves) yield { ...history, moves: moves.toSpliced(at, 1, one) };
    yield { ...history, moves: moves.toSpliced(at, 1, ...move.moves) };
  }
  if (history.hasCookie) yield { ...history, hasCookie: false };
  for (const [at, move] of moves.entries()) {
    for (const one of simplerMoves(move)) yield { ...history, moves: moves.with(at, one) };
  }
}

function* simplerMoves(move: Move): Generator<Move> {
  switch (move.do) {
    case 'race':
      for (const [at, one] of move.moves.entries()) {
        for (const simple of simplerMoves(one)) yield { ...move, moves: move.moves.with(at, simple) };
      }
      break;
    case 'say':
      yield* changed(move, { opening: null });
      yield* changed(move, { via: 'webchat' });
      yield* changed(move, { session: { is: 'none' } });
      yield* changed(move, { token: 'none' });
      if (move.token !== 'none') yield* changed(move, { token: 'own' });
      yield* changed(move, { place: 'body' });
      yield* changed(move, { key: 'none' });
      yield* changed(move, { fails: false });
      yield* changed(move, { asks: false });
      yield* changed(move, { as: 'curl' });
      yield* changed(move, { user: move.who });
      if (move.opening === null) break;
      for (const opening of simplerOpenings(move)) yield { ...move, opening };
      break;
    case 'open':
    case 'stop':
      for (const opening of simplerOpenings(move)) yield { ...move, opening };
      break;
    case 'write':
      yield* changed(move, { sender: 'own' });
      yield* changed(move, { shared: false });
      break;
    case 'link':
      yield* changed(move, { token: 'own' });
      yield* changed(move, { target: move.who });
      break;
    case 'make-code':
    case 'confirm':
    case 'look':
    case 'list':
    case 'end-link':
      yield* changed(move, { token: 'own' });
      break;
    case 'send-code':
      yield* changed(move, { way: 'alone', sender: 'own' });
      break;
    case 'answer':
      yield* changed(move, { sender: 'own' });
      break;
    case 'order':
      yield* changed(move, { shared: false, token: 'own', overSse: false });
      for (const at of move.deeds.keys()) yield { ...move, deeds: move.deeds.toSpliced(at, 1) };
      yield* changed(move, { deeds: move.deeds.map(() => 'done' as const) });
      break;
    case 'decide':
      yield* changed(move, { token: 'own' });
      yield* changed(move, { here: true, overSse: false, twice: false });
      yield* changed(move, { by: 'word' });
      yield* changed(move, { says: 'all' });
      break;
    case 'sign-out':
      yield* changed(move, { scope: 'all', again: false });
  }
}

function* simplerOpenings({
  opening,
}: Extract<Move, { do: 'say' | 'open' | 'stop' }>): Generator<
  NonNullable<Extract<Move, { do: 'say' }>['opening']>
> {
  if (opening === null) return;
  yield* changed(opening, { query: 'none' });
  if (opening.query !== 'none') yield* changed(opening, { query: 'own' });
  yield* changed(opening, { after: 'none' });
  yield* changed(opening, { as: 'curl' });
  if (opening.as !== 'curl') yield* changed(opening, { as: 'event-source' });
}

/** Yields the object with the change, or nothing if it already has these values. */
function* changed<T extends object>(one: T, change: Partial<T>): Generator<T> {
  const isSo = Object.entries(change).every(
    ([name, value]) => JSON.stringify(one[name as keyof T]) === JSON.stringify(value),
  );
  if (!isSo) yield { ...one, ...change };
}
