import type { AgentRuntime, AgentTurn, ConfirmedAction } from '../../agent/index.ts';
import type { UserLookUp } from './agent.ts';
import { type Argument, type AskedTool, askedTool, LOOK_UP, titledTools } from './asked-tool.ts';
import { serviceName } from './prompt.ts';
import {
  failureWords,
  fieldName,
  plainText,
  recordAsMarkdown,
  unmarked,
  valueAsMarkdown,
} from './record-markdown.ts';

/** Lengths are bounded, so that no text can make the search slow. */
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

/** How the message of a tool begins if it refuses a call because the person must sign in. */
const SIGN_IN_NEEDED = /^Sign-in is needed\b/;
/** For a person who is signed in here, but not for the API. */
const SIGN_IN_REFUSED =
  'Your sign-in was not accepted by the system that holds the data. Please sign in again, then ask once more.';
const UNKNOWN_VISITOR = 'I don’t know who you are, because you’re not signed in.';
/** Maximum number of tools that a list of abilities names. */
const TOOLS_LISTED = 20;

/**
 * The runtime that needs no model: plain rules. It looks up the person who asks "Who am I?" or a similar question, or
 * the user whose e-mail address a message contains. It calls the tool whose title a message contains. It answers any
 * other message with a list of its abilities.
 */
export function createBuiltin(): AgentRuntime {
  const runtime: AgentRuntime = {
    apiVersion: 1,
    async *run(turn) {
      // The daemon says what was done, at the end of the reply.
      if (turn.confirmed_actions.length > 0 || turn.already_done.length > 0) turn.reportWrites();
      const reply = [expiredNote(turn), await answer(turn)].filter((part) => part !== '').join('\n\n');
      turn.signal.throwIfAborted();
      const said = turn.channel.markdown === 'none' ? unmarked(reply) : reply;
      // Sends the answer word by word, as a model does, so that people can see how a stream works.
      yield* said.split(/(?<=\s)(?=\S)/);
    },
  };
  builtins.add(runtime);
  return runtime;
}

const builtins = new WeakSet<AgentRuntime>();

/** Whether `createBuiltin` has made the runtime. */
export function isBuiltin(runtime: AgentRuntime): boolean {
  return builtins.has(runtime);
}

async function answer(turn: AgentTurn): Promise<string> {
  if (turn.confirmed_actions.length > 0)
    return [...new Set(turn.confirmed_actions.map(explain))].filter((why) => why !== '').join('\n\n');
  const asked = askedTool(turn.text, turn.tools);
  if (asked) return useTool(turn, asked);
  const email = turn.text.match(EMAIL)?.[0].replace(/[.!?]+$/, '');
  if (email !== undefined) return lookUp(turn, email);
  if (ABOUT_ME.some((question) => question.test(turn.text))) return lookUp(turn, null);
  if (GREETING.test(turn.text) || HELP.test(turn.text)) return welcome(turn);
  return `I can’t answer that, because I have no language model: I follow a few simple rules.\n\n${abilities(turn)}`;
}

/** Why a confirmed action was not carried out. Empty if it was. */
function explain({ answer }: ConfirmedAction): string {
  return answer.ok ? '' : failureWords(answer.message);
}

function welcome(turn: AgentTurn): string {
  const { person } = turn;
  const hello = person
    ? `Hello ${plainText(person.name ?? person.email)}! You are signed in as ${plainText(person.email)}.`
    : 'Hello!';
  const name = serviceName(turn);
  const whose = name === null ? '' : ` of ${plainText(name)}`;
  return `${hello} I’m the assistant${whose}. I have no language model, so I follow a few simple rules.\n\n${abilities(turn)}`;
}

function abilities(turn: AgentTurn): string {
  const looksUp = turn.tools.some(({ name }) => name === LOOK_UP);
  const can = [
    'You can write:',
    '',
    '- **Who am I?**',
    ...(looksUp ? ['- **An e-mail address**, and I look that person up'] : []),
    ...toolLines(turn),
  ].join('\n');
  return turn.person
    ? can
    : `${can}\n\nYou’re not signed in, so my answers are general. Sign in to get answers about you.`;
}

function toolLines({ tools }: AgentTurn): string[] {
  const titled = titledTools(tools);
  const shown = titled.slice(0, TOOLS_LISTED).map(({ title, argument }) => {
    const name = `**${plainText(title)}**`;
    return `- ${argument === null ? name : `${name}, followed by the ${argumentName(argument)}`}`;
  });
  const more = titled.length - shown.length;
  return more > 0 ? [...shown, `- and ${more} more`] : shown;
}

/** Calls a tool that was asked for by its title. @returns the reply */
async function useTool(turn: AgentTurn, { tool, title, argument, args }: AskedTool): Promise<string> {
  const name = plainText(title);
  const needed = argument === null ? '' : argumentName(argument);
  if (args === null) return `To do that, I need the ${needed}. Write **${name}**, followed by the ${needed}.`;
  const answer = await tool.call(args);
  if (!answer.ok && SIGN_IN_NEEDED.test(answer.message))
    return turn.person ? SIGN_IN_REFUSED : 'I can’t do that yet, because you’re not signed in.';
  if (!answer.ok) {
    const path = `The argument \`${argument?.path.join('.')}\``;
    return `That did not work. ${failureWords(answer.message).replace(plainText(path), () => `The ${needed}`)}`;
  }
  const { waits_for_confirmation, sign_in_needed, message } = (answer.result ?? {}) as ToolWords;
  // The daemon asks the person, at the end of this reply.
  if (waits_for_confirmation === true) return 'I can do that once you confirm it.';
  if (sign_in_needed === true) return `Sign in, and ask me again. ${plainText(message ?? '')}`.trim();
  const shown = valueAsMarkdown(answer.result);
  const whose = name.replace(/^My\b/, 'Your');
  return shown === '' ? `${whose}: I found nothing.` : `${whose}:\n\n${shown}`;
}

/** An argument, as people read it. */
function argumentName({ name }: Pick<Argument, 'name'>): string {
  return plainText(fieldName(name).toLowerCase());
}

/** The daemon's answer to a call that it did not make. */
interface ToolWords {
  waits_for_confirmation?: unknown;
  sign_in_needed?: unknown;
  message?: unknown;
}

function expiredNote(turn: AgentTurn): string {
  if (!turn.sign_in_expired) return '';
  return 'Your sign-in has expired. To renew it, sign in again where you signed in before; if you linked your account here, link it once more.';
}

/** Looks up a user in the business system. @param email null to look up the person who asks */
async function lookUp(turn: AgentTurn, email: string | null): Promise<string> {
  const tool = turn.tools.find((candidate) => candidate.name === LOOK_UP);
  if (!tool) {
    const you = turn.person ? `${youAre(turn, {})} I cannot look up more about you.` : UNKNOWN_VISITOR;
    return `${email === null ? you : 'I cannot look people up here.'}\n\n${abilities(turn)}`;
  }
  const found = await tool.call(email === null ? {} : { email });
  if (!found.ok) return `${whoIsAsking(turn)} I could not look that up. ${plainText(found.message)}`;
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
  const about = email ?? turn.person?.email;
  if (about === undefined) return UNKNOWN_VISITOR;
  if (shown) {
    const more = turn.person ? SIGN_IN_REFUSED : 'Sign in to see more.';
    return `This is public about ${plainText(about)}:\n\n${recordAsMarkdown(shown)}\n\n${more}`;
  }
  return turn.person ? SIGN_IN_REFUSED : 'I can’t show details about a person, because you’re not signed in.';
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
