import type { Finding } from './check-histories.ts';
import type { Place, Streaming } from './deed-histories.ts';
import type { Brought, Move, Opening, Ref, SessionChoice } from './histories.ts';
import type { Who } from './tokens.ts';

/** A finding in words: the moves of its shortest history, and what went wrong. */
export function report({ history, played }: Finding, original: Finding): string {
  const { seed, index } = history;
  const lines = [
    `history ${index} of seed ${seed} (to repeat: npm run principals -- --seed ${seed} --only ${index})`,
    ...[...history.renewals]
      .filter(([, how]) => how !== 'issued')
      .map(([person, how]) => `  0. the site renews tokens of the ${person} like this: ${how}`),
    ...(history.hasCookie ? ["  0. the victim's browser has a cookie from an earlier sign-in"] : []),
    ...history.moves.map((move, at) => `  ${at + 1}. ${describe(move)}`),
    `found ${played.at < 0 ? 'at the end' : `at move ${played.at + 1}`}:`,
    ...played.problems.map(({ kind, text }) => `  ${kind}: ${inWords(text, played.meanings)}`),
  ];
  const [before, after] = [original.history.moves.length, history.moves.length];
  return [...lines, `(shrunk from ${before} moves to ${after})`].join('\n');
}

export function describe(move: Move): string {
  switch (move.do) {
    case 'say':
      return `${sayWords(move)}${move.opening === null ? '' : `, and opens the stream ${openingWords(move.opening)}`}`;
    case 'open':
      return `the ${move.who} opens ${refWords(move.stream, 'stream')} ${openingWords(move.opening)}`;
    case 'stop':
      return `the ${move.who} stops ${refWords(move.stream, 'stream')} ${openingWords(move.opening)}`;
    case 'lure':
      return "a page of a foreign site makes the victim's browser post a form";
    case 'plant':
      return `the attacker plants a cookie in the victim's browser, ${move.beside ? "beside the victim's own" : "instead of the victim's own"}`;
    case 'write':
      return `the ${move.who} writes on ${move.platform}, ${move.shared ? 'in a shared thread' : 'alone with the bot'}${senderWords(move.sender)}`;
    case 'link': {
      const what = move.off ? 'unlinks' : 'links';
      const whose = move.platform === 'phonechat' ? `the ${move.target}'s number` : 'that account';
      return `the ${move.who} ${what} ${whose} on ${move.platform} with the token "${move.token}"`;
    }
    case 'make-code':
      return `the ${move.who} makes a link code with the token "${move.token}"`;
    case 'send-code':
      return `the ${move.who} sends ${knownWords(move)} on ${move.platform} (${move.way})${senderWords(move.sender)}`;
    case 'answer':
      return `the ${move.who} answers ${move.approve ? 'yes' : 'no'} on ${move.platform}, ${move.by === 'word' ? 'in words' : `with the button of ${knownWords(move)}`}${senderWords(move.sender)}`;
    case 'confirm':
      return `the ${move.who} confirms ${knownWords(move)} on the site with the token "${move.token}"${move.looks ? ', after a look' : ''}`;
    case 'look':
      return `the ${move.who} ${move.ends ? 'ends' : 'looks at'} ${knownWords(move)} with the token "${move.token}"`;
    case 'list':
      return `the ${move.who} lists links with the token "${move.token}"`;
    case 'end-link':
      return `the ${move.who} ends a link of the ${move.of} on the site with the token "${move.token}"`;
    case 'sign-out':
      return move.by === 'site'
        ? `the ${move.who} signs out at the site (${move.again ? 'the last logout token again' : move.scope})`
        : `a ${move.by} sends a logout token of the ${move.who} (${move.scope})`;
    case 'order':
      return `the ${move.who} ${move.deeds.length === 0 ? 'writes' : `asks for actions (${move.deeds.join(', ')})`} ${placeWords(move)}`;
    case 'decide': {
      const says = typeof move.says === 'string' ? move.says : `only ${move.says.join(', ')}`;
      const whose = move.of === move.who ? 'their' : `the ${move.of}'s`;
      const where = move.on === 'webchat' && !move.here ? ', in another session' : '';
      const twice = move.twice && move.on !== 'webchat' ? ', which is delivered twice' : '';
      return `the ${move.who} answers "${says}" to ${whose} question ${placeWords(move)}, by ${move.by}${where}${twice}`;
    }
    case 'race':
      return `at once: ${move.moves.map(describe).join('; and ')}`;
    case 'interval':
      return 'an hour passes, or the daemon restarts';
  }
}

function placeWords({
  on,
  shared,
  token,
  overSse,
  stopAfter,
}: Place & Streaming & { token: string }): string {
  const stop = stopAfter === null ? '' : `, stopped after ${stopAfter} ticks`;
  if (on === 'webchat') return `on ${overSse ? `sse${stop}` : 'webchat'} (token "${token}")`;
  return `on ${on}, ${shared ? 'in a shared thread' : 'alone with the bot'}`;
}

function knownWords({ of, back }: { of: Who; back: number }): string {
  return `the ${back === 0 ? 'latest' : 'earlier'} code of the ${of}`;
}

function sayWords({
  who,
  via,
  as,
  session,
  user,
  token,
  key,
  fails,
  asks,
}: Extract<Move, { do: 'say' }>): string {
  const how = {
    page: 'from a page of the site',
    shop: 'from a page of an allowed origin',
    curl: 'with curl',
  };
  return [
    `the ${who} writes on ${via} ${how[as]}, ${sessionWords(session)}, ${tokenWords(token)}`,
    ...(user === who ? [] : [`with the user_id of the ${user}`]),
    ...(key === 'none' ? [] : [`with an Idempotency-Key (${key})`]),
    ...(asks ? ["asking for the other principal's data"] : []),
    ...(fails ? ['and the agent fails'] : []),
  ].join(', ');
}

function sessionWords(session: SessionChoice): string {
  switch (session.is) {
    case 'none':
      return 'in no session';
    case 'known':
      return `in ${refWords(session.ref, 'session')}`;
    case 'chosen':
      return `in the session room-${session.number} of the client's choice`;
    case 'channel':
      return 'in a session with an id like those of a platform';
  }
}

function refWords({ of, back }: Ref, what: string): string {
  const which = back === 0 ? 'the latest' : `number ${back + 1} from the end`;
  return `a ${what} that the ${of} knows (${which})`;
}

function tokenWords(token: Brought): string {
  if (token === 'none') return 'without a token';
  if (token === 'null') return 'with `jwt_token: null`';
  return token === 'empty' ? 'with an empty token' : `with the token "${token}"`;
}

function openingWords({ as, query, after }: Opening): string {
  return [
    `(${as}`,
    ...(query === 'none' ? [] : [`query token "${query}"`]),
    ...(after === 'none' ? [] : [`Last-Event-ID: ${after}`]),
  ]
    .join(', ')
    .concat(')');
}

function senderWords(sender: 'own' | 'recycled' | 'hidden'): string {
  if (sender === 'own') return '';
  return sender === 'recycled'
    ? ", from the victim's number, which now belongs to somebody else"
    : ', with the number hidden';
}

/** Replaces each mark with its meaning. */
function inWords(text: string, meanings: ReadonlyMap<string, string>): string {
  let words = text;
  for (const [mark, meaning] of meanings) words = words.replaceAll(new RegExp(`\\b${mark}\\b`, 'g'), meaning);
  return words;
}
