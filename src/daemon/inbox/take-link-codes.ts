import type { ChannelPlugin, IncomingMessage } from '../../channel/index.ts';
import { claimsOfStoredToken } from '../identity/decode-token.ts';
import type { Claims } from '../identity/identity.ts';
import { bindCode, claimsOfCode, refuseClaim } from '../linking/bind-code.ts';
import {
  codeAlone,
  codeHashes,
  codesIn,
  knownCodesIn,
  MASKED_CODE,
  maskCodes,
} from '../linking/codes-in-text.ts';
import { effectiveExpiry, findLink } from '../linking/find-link.ts';
import { forRequest, type Services } from '../message/services.ts';
import { sessionTag } from '../session/session.ts';
import type { CodeClaimed, LinkCode } from '../store/links/link-codes.ts';
import { timeOrderedId } from '../time/clock.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import { chooseTexts, quoteEmail, sealClaimantReplyTo, sendBoundNotice, sendNotice } from './link-notices.ts';
import type { InboxParts } from './work.ts';

/** A message of a platform, and the parts of the daemon that handle the codes in it. */
interface Arriving extends InboxParts {
  plugin: ChannelPlugin;
  request_id: string;
}

/**
 * Handles the link codes in messages, before a message is screened or stored (agentd-identity(7), "Link codes"). A
 * message of a private chat that is a code claims it, and its sender is asked. A word that answers this question settles
 * it. In all other messages, the codes of people are masked; if others can read the message, they end, and a message
 * that is only a code is not answered.
 *
 * Everything is repeated without effect if the platform delivers the message again.
 * @returns the messages that go on; null for each that was handled here.
 * @throws `unavailable`
 */
export async function takeLinkCodes(
  { services, worker }: InboxParts,
  plugin: ChannelPlugin,
  messages: readonly IncomingMessage[],
  request_id: string,
): Promise<(IncomingMessage | null)[]> {
  if (!messages.some(({ text }) => mayConcernCode(text, services))) return [...messages];
  const arriving = { services: forRequest(services, request_id), worker, plugin, request_id };
  // All answers come first: nobody answers in the same delivery a question that a code in it leads to.
  const left: (IncomingMessage | null)[] = [];
  for (const message of messages) left.push((await takeAnswer(arriving, message)) ? null : message);
  const others: (IncomingMessage | null)[] = [];
  for (const message of left) others.push(message === null ? null : await takeCode(arriving, message));
  return others;
}

/** Whether a text has the shape of a code in it, or may answer the question about one. Most messages do not. */
function mayConcernCode(text: string, { texts }: Pick<Services, 'texts'>): boolean {
  return codesIn(text).length > 0 || texts.isAnswer(text);
}

/** A text with the codes of people masked. They end, because nobody knows who reads the text. */
export async function endCodesIn(text: string, { services }: Pick<InboxParts, 'services'>): Promise<string> {
  const known = await knownCodesIn(text, services);
  for (const hash of known.values()) await services.store.linkCodes.endSeen(hash);
  return maskCodes(text, known);
}

/** @returns the message with codes masked; null if it has claimed a code, or is only a code that others can read */
async function takeCode(arriving: Arriving, message: IncomingMessage): Promise<IncomingMessage | null> {
  const { services } = arriving;
  const { text } = message;
  if (message.shared) {
    const masked = await endCodesIn(text, arriving);
    if (masked === text) return message;
    await trace(arriving, message, { verdict: 'refused', reason: 'link_code_seen' });
    // A code alone asks the agent nothing, and the group is to hear nothing.
    return codeAlone(text) === null && masked !== MASKED_CODE ? { ...message, text: masked } : null;
  }
  const known = await knownCodesIn(text, services);
  const masked = { ...message, text: maskCodes(text, known) };
  const code = codeAlone(text);
  if (code === null || message.forwarded || message.confirm || !arriving.plugin.linking) return masked;
  const hash = known.get(code) ?? codeHashes(services.seal, code)[0];
  const claimed = await services.store.linkCodes.claim(hash, toClaimant(message, arriving));
  if (claimed.outcome === 'claimed') {
    await arriving.worker.endCollecting(message.platform, message.user_id);
    if (claimed.asks) await ask(arriving, message, claimed);
    return null;
  }
  if (known.size > 0)
    await trace(arriving, message, { verdict: 'refused', reason: `link_code_${claimed.outcome}` });
  return masked;
}

function toClaimant(message: IncomingMessage, { services }: Arriving) {
  const { platform, user_id, alias_id = null, locale = null, metadata, reply_to = {} } = message;
  const { user_name } = metadata;
  return {
    platform,
    user_id,
    alias_id,
    locale,
    message_id: message.message_id ?? null,
    name: typeof user_name === 'string' && user_name !== '' ? user_name : null,
    reply_to: sealClaimantReplyTo(services.seal, { platform, user_id, reply_to }),
  };
}

/** Asks the sender of a code whether to connect the chat. For a repeated message, the question is not sent again. */
async function ask(
  arriving: Arriving,
  message: IncomingMessage,
  { code, isNew }: Extract<CodeClaimed, { outcome: 'claimed' }>,
): Promise<void> {
  const { services, plugin } = arriving;
  const reason = code.state === 'claimed' ? await refuseClaim(services, plugin, code) : null;
  const claims = claimsOfCode(code, services);
  if (isNew || reason !== null)
    await trace(
      arriving,
      message,
      {
        verdict: reason === null ? 'ok' : 'refused',
        reason: reason === null ? 'link_code_claimed' : `link_code_${reason}`,
      },
      code.code_id,
    );
  if (reason !== null) {
    const text = chooseTexts(arriving, message, claims).say(`link_code_${reason}`);
    await answer(arriving, message, code, text);
  } else if (code.state !== 'claimed' || claims === null) {
    await answer(arriving, message, code, chooseTexts(arriving, message, null).say('link_code_gone'));
  } else await sendQuestion(arriving, message, code, claims);
}

async function sendQuestion(
  arriving: Arriving,
  message: IncomingMessage,
  code: LinkCode,
  claims: Claims,
): Promise<void> {
  const texts = chooseTexts(arriving, message, claims);
  const [[confirm], [decline]] = [texts.words('confirm'), texts.words('decline')];
  const how = texts.say('link_code_how', { confirm, decline });
  const text = [texts.say('link_code_question', { email: quoteEmail(claims.email) }), how].join('\n\n');
  const buttons = { confirm: texts.say('confirm_button'), decline: texts.say('decline_button') };
  const question = { id: code.code_id, begins_at: 0, how: how.length, ...buttons };
  await answer(arriving, message, code, text, { question, written_for: code.person });
}

/** Sends the answer to a message about a code, once. */
function answer(
  arriving: Arriving,
  { platform, user_id, message_id, reply_to = {} }: IncomingMessage,
  { code_id: link_code }: Pick<LinkCode, 'code_id'>,
  text: string,
  asks: Pick<Parameters<typeof sendNotice>[1], 'question' | 'written_for'> = {},
): Promise<void> {
  return sendNotice(arriving, {
    platform,
    user_id,
    reply_to,
    text,
    link_code,
    message_id: message_id ?? null,
    ...asks,
  });
}

/** Settles the question about a code that the sender has claimed, if the message is an answer to it. */
async function takeAnswer(arriving: Arriving, message: IncomingMessage): Promise<boolean> {
  const { services } = arriving;
  const { text, shared, forwarded, confirm, message_id } = message;
  if (shared || forwarded || confirm || !arriving.plugin.linking) return false;
  const { texts, store } = services;
  if (!texts.isWord('confirm', text) && !texts.isWord('decline', text)) return false;
  const code = await store.linkCodes.claimedBy(message);
  if (code === null) return false;
  if (message_id !== undefined && code.answered_by === message_id) {
    await report(arriving, message, code);
    return true;
  }
  if (code.state !== 'claimed' || code.sender_agreed) return false;
  const claims = claimsOfCode(code, services);
  const local = chooseTexts(arriving, message, claims);
  const approve = local.isWord('confirm', text);
  if (!approve && !local.isWord('decline', text)) return false;
  const newer = await newerReply(message, code, services);
  if (newer === 'asks') return false;
  if (newer === 'says') {
    // The word may answer what the agent has said since, so it is not taken for an agreement.
    const asked = await store.linkCodes.askAgain(code.code_id, message, message_id ?? null);
    if (asked !== null && claims !== null) await sendQuestion(arriving, message, asked, claims);
    return asked !== null;
  }
  return settle(arriving, message, code.code_id, approve);
}

/**
 * Settles the question of a code with the press of its button.
 * @returns null if no code has this id; otherwise whether the press counts
 */
export async function pressLinkCode(
  { services, worker }: InboxParts,
  plugin: ChannelPlugin,
  message: IncomingMessage,
  request_id: string,
): Promise<'settled' | 'confirm_gone' | 'confirm_not_yours' | null> {
  const { id = '', approve = false } = message.confirm ?? {};
  const code = await services.store.linkCodes.find(id);
  if (code === null) return null;
  const { claimant } = code;
  if (claimant?.platform !== message.platform || claimant.user_id !== message.user_id)
    return 'confirm_not_yours';
  const arriving = { services: forRequest(services, request_id), worker, plugin, request_id };
  if (message.shared) return 'confirm_gone';
  const isRepeat = message.message_id !== undefined && code.answered_by === message.message_id;
  if (isRepeat) await report(arriving, message, code);
  return isRepeat || (await settle(arriving, message, id, approve === true)) ? 'settled' : 'confirm_gone';
}

/** @returns whether the code was still waiting for the sender */
async function settle(
  arriving: Arriving,
  message: IncomingMessage,
  code_id: string,
  approve: boolean,
): Promise<boolean> {
  const { services, worker } = arriving;
  const { linkCodes } = services.store;
  await worker.endCollecting(message.platform, message.user_id);
  const code = await linkCodes.answer(code_id, message, approve, message.message_id ?? null);
  if (code === null) return false;
  const reason = approve ? 'link_code_agreed' : 'link_code_declined';
  await trace(arriving, message, { verdict: 'ok', reason }, code_id);
  await report(arriving, message, code);
  return true;
}

/** Tells the sender what the answer has led to. Makes the link if the person has agreed, too. */
async function report(arriving: Arriving, message: IncomingMessage, code: LinkCode): Promise<void> {
  const { services, plugin } = arriving;
  const { code_id, state } = code;
  const claims = claimsOfCode(code, services);
  const texts = chooseTexts(arriving, message, claims);
  if (state === 'declined') return answer(arriving, message, code, texts.say('link_code_declined'));
  if (state === 'claimed' && !code.sender_agreed)
    return claims === null ? undefined : sendQuestion(arriving, message, code, claims);
  const bound =
    state === 'used' ? await asBound(arriving, message, code) : await bindCode(services, plugin, code_id);
  if (bound.outcome === 'waiting') return answer(arriving, message, code, texts.say('link_code_on_site'));
  if (bound.outcome === 'bound')
    await trace(arriving, message, { verdict: 'ok', reason: 'link_code_used' }, code_id);
  if (bound.outcome === 'refused')
    await trace(arriving, message, { verdict: 'refused', reason: `link_code_${bound.reason}` }, code_id);
  await sendBoundNotice(arriving, plugin.name, bound, code_id, message.message_id ?? null);
}

/** A used code as `bindCode` has returned it, from the link that it has made. */
async function asBound(
  { services, plugin }: Arriving,
  { user_id }: IncomingMessage,
  code: LinkCode,
): Promise<Awaited<ReturnType<typeof bindCode>>> {
  const found = await findLink(services, plugin, user_id);
  if (found?.person !== code.person) return { outcome: 'gone', code };
  return {
    outcome: 'bound',
    code,
    claims: claimsOfStoredToken(found.token),
    expires_at: effectiveExpiry(found),
  };
}

/**
 * Whether a turn of the session has ended since the question about the code: its reply may have asked something else.
 * `asks`: an action waits for an answer of this user.
 */
async function newerReply(
  { thread_id, user_id }: IncomingMessage,
  { asked_at }: LinkCode,
  { store }: Services,
): Promise<'asks' | 'says' | null> {
  const session = await store.sessions.find(thread_id ?? '');
  if (session === null || session.last_active_at < (asked_at ?? 0)) return null;
  const pending = await store.actions.pendingIn(sessionTag(session));
  return pending.some((action) => action.user_id === user_id) ? 'asks' : 'says';
}

/** Stores a trace of what became of the code in a message. It never contains the code. */
async function trace(
  { services, plugin, request_id }: Arriving,
  { thread_id, message_id, user_id }: IncomingMessage,
  line: Pick<TraceLine, 'verdict' | 'reason'>,
  code_id: string | null = null,
): Promise<void> {
  const at = services.clock.now();
  const record = {
    turn_id: timeOrderedId(at),
    request_id,
    session_id: thread_id,
    message_id: message_id ?? null,
    platform: plugin.name,
    user_id,
    started_at: at,
    finished_at: at,
    outcome: line.verdict === 'ok' ? 'answered' : (line.reason ?? line.verdict),
    lines: [{ at, step: 'link-code', ...line }],
  };
  await services.store.traces.keep(record, code_id);
}
