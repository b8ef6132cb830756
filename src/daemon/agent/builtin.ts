import type { AgentRuntime, AgentTurn } from './agent.ts';
import { plainText, recordAsMarkdown, unmarked } from './record-markdown.ts';
import { serviceName } from './service-name.ts';
import type { UserLookUp } from './user-look-up.ts';

/** Lengths are bounded, so that no text makes the search slow. */
const EMAIL = /[^\s@<>()[\],;:"'`|]{1,64}@[^\s@<>()[\],;:"'`|]{1,189}/;
const ABOUT_ME = [
  /\bwho\s+am\s+i\b/i,
  /\bwhat\s+do\s+you\s+know\s+(?:about|of)\s+me\b/i,
  /\bam\s+i\s+(?:signed|logged)\s+in\b/i,
  /\b(?:show|tell)\s+me\s+about\s+(?:me|myself)\b/i,
  /\bmy\s+(?:\w+\s+){0,2}(?:account|profile|orders?|purchases?|invoices?|details|data|info(?:rmation)?|name|e-?mail|address|roles?|subscription|plan|balance)\b/i,
];
const GREETING =
  /^\W*(?:hi|hello|hey|good\s+(?:morning|day|afternoon|evening)|start|help|thanks?|thank\s+you)\b/i;
const HELP = /\b(?:help|what\s+can\s+you\s+do|who\s+are\s+you|what\s+are\s+you)\b/i;

/**
 * The runtime that needs no model: plain rules. It looks the person up who asks "Who am I?" (and kin), or
 * whoever's e-mail address a message holds, and says honestly what it is for the rest. It really calls the
 * tools, so that all behind them can be tried and watched.
 */
export function createBuiltin(): AgentRuntime {
  return {
    apiVersion: 1,
    async *run(turn) {
      const reply = [expiredNote(turn), doneNote(turn), await answer(turn)]
        .filter((part) => part !== '')
        .join('\n\n');
      turn.signal.throwIfAborted();
      const said = turn.channel.markdown === 'none' ? unmarked(reply) : reply;
      // Word by word, as a model would say it: what streams can be seen to stream.
      yield* said.split(/(?<=\s)(?=\S)/);
    },
  };
}

async function answer(turn: AgentTurn): Promise<string> {
  const email = turn.text.match(EMAIL)?.[0].replace(/[.!?]+$/, '');
  if (email !== undefined) return lookUp(turn, email);
  if (ABOUT_ME.some((question) => question.test(turn.text))) return lookUp(turn, null);
  if (GREETING.test(turn.text) || HELP.test(turn.text)) return welcome(turn);
  return `I cannot answer that: I work by a few plain rules, without a language model.\n\n${abilities(turn)}`;
}

function welcome(turn: AgentTurn): string {
  const { person } = turn;
  const hello = person
    ? `Hello ${plainText(person.name ?? person.email)}! You are signed in as ${plainText(person.email)}.`
    : 'Hello!';
  const name = serviceName(turn);
  const whose = name === null ? '' : ` of ${plainText(name)}`;
  return `${hello} I am the assistant${whose}. I work by a few plain rules.\n\n${abilities(turn)}`;
}

function abilities(turn: AgentTurn): string {
  const can = [
    'What I can do:',
    '',
    '- Ask **Who am I?**, and I tell you what is known about you.',
    '- Write an **e-mail address**, and I look that person up.',
  ].join('\n');
  return turn.person
    ? can
    : `${can}\n\nYou are not signed in, so my answers are general. Sign in, and they are about you.`;
}

function expiredNote(turn: AgentTurn): string {
  if (!turn.sign_in_expired) return '';
  return 'Your sign-in has expired. To renew it, sign in again where you signed in before; if you linked your account here, link it once more.';
}

/** What an earlier run of this message has written. The daemon itself says what is not known. */
function doneNote({ already_done }: AgentTurn): string {
  const words = { done: 'Done', failed: 'Not done' };
  return already_done
    .flatMap(({ outcome, summary }) =>
      outcome === 'unknown' ? [] : [`${words[outcome]}: ${plainText(summary)}.`],
    )
    .join('\n');
}

/** @param email null looks up the person who asks. */
async function lookUp(turn: AgentTurn, email: string | null): Promise<string> {
  const tool = turn.tools.find((candidate) => candidate.name === 'get_user');
  if (!tool) return `${whoIsAsking(turn)} No business system is connected here, so I cannot look up more.`;
  const found = await tool.call(email === null ? {} : { email });
  if (!found.ok) return `${whoIsAsking(turn)} I could not look that up just now. ${plainText(found.message)}`;
  return describe(turn, email, found.result as UserLookUp);
}

function describe(turn: AgentTurn, email: string | null, result: UserLookUp): string {
  if (result.sign_in_needed) return withoutSignIn(turn, email, result.user);
  if ('users' in result) {
    const list = result.users
      .map((user, index) => `${index + 1}. \n${indent(recordAsMarkdown(user))}`)
      .join('\n');
    return `Several people match:\n\n${list}`;
  }
  if ('user' in result) {
    const head =
      email === null
        ? `${youAre(turn, result.user)} This is what I found about you:`
        : `This is what I found for ${plainText(email)}:`;
    return `${head}\n\n${recordAsMarkdown(result.user)}`;
  }
  return email === null
    ? `${whoIsAsking(turn)} The business system has no record of you, though.`
    : `I found nobody with the address ${plainText(email)}.`;
}

function withoutSignIn(
  turn: AgentTurn,
  email: string | null,
  shown: Record<string, unknown> | undefined,
): string {
  if (turn.person) {
    return 'Your sign-in was not accepted by the system that holds the data. Please sign in again, then ask once more.';
  }
  if (email === null) {
    return 'I do not know who you are, because you are not signed in. Sign in, and I can tell you about your account.';
  }
  if (shown) {
    return `This is public about ${plainText(email)}:\n\n${recordAsMarkdown(shown)}\n\nSign in to see more.`;
  }
  return 'I show details of people only to those who are signed in, so I can say nothing about that address. Sign in, and ask me again.';
}

function youAre(turn: AgentTurn, user: Record<string, unknown>): string {
  const name = turn.person?.name ?? (typeof user.name === 'string' ? user.name : null);
  const email = turn.person?.email ?? (typeof user.email === 'string' ? user.email : null);
  if (name === null) return `You are signed in as ${plainText(email ?? 'a known user')}.`;
  return `You are **${plainText(name)}**${email === null ? '' : ` (${plainText(email)})`}.`;
}

function whoIsAsking(turn: AgentTurn): string {
  return turn.person ? youAre(turn, {}) : 'You are not signed in.';
}

function indent(lines: string): string {
  return lines.replace(/^/gm, '   ');
}
