import type { JsonObject } from '../../channel/index.ts';
import { formatMinute } from '../../channel/setting.ts';
import type { Claims } from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import type { Bound } from '../linking/bind-code.ts';
import type { NewInboxMessage } from '../store/inbox/inbox.ts';
import type { Claimant } from '../store/links/link-codes.ts';
import type { LocalTexts } from '../texts/texts.ts';
import { shownValue } from '../tools/confirmation/plain-value.ts';
import { escapeMarkdown } from '../tools/confirmation/question.ts';
import { createNotice, rejectDelivery } from './notify.ts';
import { openReplyTo, sealReplyTo } from './outgoing.ts';
import type { InboxParts } from './work.ts';

/** `message_id`: a notice with the same id is sent once, and a message with this id is not answered again. */
interface Notice extends Pick<NewInboxMessage, 'platform' | 'reply_to' | 'message_id' | NoticeOptions> {
  user_id: string;
  text: string;
}

type NoticeOptions = 'question' | 'written_for' | 'link_code' | 'is_hint';

/** Stores a text for a user of a platform, which is sent as durably as a reply. @throws `unavailable` */
export async function sendNotice({ services, worker }: InboxParts, notice: Notice): Promise<void> {
  const { platform, user_id, reply_to, text, ...rest } = notice;
  const stored = createNotice({ name: platform }, services, reply_to, text, user_id);
  (await services.store.inbox.enqueue([{ ...stored, ...rest }])) ?? rejectDelivery();
  worker.wake();
}

/**
 * Tells the sender of a code what became of it. Nothing is sent if the sender must still answer.
 * @param message_id the message that led to this; null if it was a request of the site
 */
export async function sendBoundNotice(
  parts: InboxParts,
  platform: string,
  bound: Bound,
  code_id: string,
  message_id: string | null,
): Promise<void> {
  const claimant =
    bound.outcome === 'refused' ? bound.claimant : 'code' in bound ? bound.code?.claimant : null;
  if (claimant == null) return;
  const texts = chooseTexts(parts, claimant, bound.outcome === 'bound' ? bound.claims : null);
  const text = renderNotice(bound, texts);
  if (text === null) return;
  const { user_id } = claimant;
  const reply_to = claimantReplyTo(parts, claimant);
  if (reply_to === null) return;
  await sendNotice(parts, {
    platform,
    user_id,
    reply_to,
    text,
    link_code: code_id,
    message_id: message_id ?? `link-code:${code_id}`,
    ...(bound.outcome === 'bound' ? { written_for: bound.code.person } : {}),
  });
}

function renderNotice(bound: Bound, texts: LocalTexts): string | null {
  switch (bound.outcome) {
    case 'bound': {
      const { email, timezone } = bound.claims;
      const time = formatMinute(bound.expires_at, timezone);
      return texts.say('link_code_done', { email: quoteEmail(email), time });
    }
    case 'refused':
      return texts.say(`link_code_${bound.reason}`);
    case 'gone':
      return bound.code?.state === 'used' ? null : texts.say('link_code_gone');
    case 'waiting':
      return null;
  }
}

/** The `reply_to` of a claimant as it is stored with the code: the member `private` is sealed. */
export function sealClaimantReplyTo(
  seal: Seal,
  { platform, user_id, reply_to }: Pick<Claimant, 'platform' | 'user_id' | 'reply_to'>,
): JsonObject {
  return sealReplyTo(seal, toRecordKey(platform, user_id), reply_to);
}

/** Where a claimant reads the outcome; null if nothing leads there any more. */
function claimantReplyTo({ services, worker }: InboxParts, claimant: Claimant): JsonObject | null {
  const { platform, user_id, reply_to } = claimant;
  const opened = openReplyTo(services.seal, toRecordKey(platform, user_id), reply_to);
  return opened ?? worker.privateChat(platform, user_id);
}

function toRecordKey(platform: string, user_id: string): string {
  return `link code:${JSON.stringify([platform, user_id])}`;
}

/** The daemon's texts for a sender: in the language that the platform reports, or else in that of the token. */
export function chooseTexts(
  { services }: InboxParts,
  { locale }: { locale?: string | null },
  claims: Claims | null,
): LocalTexts {
  return services.texts.in(locale, claims?.locale);
}

/** An e-mail address as text: nothing in it is markup or hidden. */
export function quoteEmail(email: string): string {
  return escapeMarkdown(shownValue(email));
}

/**
 * Tells a user of a platform that the link was ended or replaced elsewhere, or ended with the sign-in. Nothing is sent if
 * the channel is not active, or cannot write to a user first. The text names nobody: a phone number may have a new owner.
 */
export async function sendEndedNotice(
  parts: InboxParts,
  { platform, user_id }: { platform: string; user_id: string },
  { locale }: Pick<Claims, 'locale'>,
  what: 'link_ended' | 'link_replaced' | 'link_sign_in_over',
): Promise<void> {
  const reply_to = parts.worker.privateChat(platform, user_id);
  if (reply_to === null) return;
  const text = parts.services.texts.in(locale).say(what);
  await sendNotice(parts, { platform, user_id, reply_to, text, message_id: null, is_hint: true });
}
