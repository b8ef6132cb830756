import { StoreUnavailable } from '../errors.ts';
import { claimsOfStoredToken } from '../identity/decode-token.ts';
import type { LocalTexts, Texts } from '../texts/texts.ts';
import { effectiveExpiry, findLink, isSenders, type LinkServices, type Sender } from './find-link.ts';
import type { LinkedChannel } from './link-ids.ts';

/** The parts of a platform's message that tell who sent it, and in which language. */
interface Sent extends Sender {
  locale?: string;
}

type Parts = Pick<LinkServices, 'store' | 'seal' | 'clock' | 'log'> & { texts: Texts };

/**
 * The daemon's texts for the sender of a platform's message that no turn answers: in the language of the token in their
 * link, or else in the language that the platform reports.
 */
export async function sendersTexts(services: Parts, channel: LinkedChannel, sent: Sent): Promise<LocalTexts> {
  const { texts } = services;
  // Without translations, the language makes no difference, and the link need not be read.
  const claims = texts.areTranslated ? await linkedClaims(services, channel, sent) : null;
  return texts.in(claims?.locale, sent.locale);
}

/** As `sendersTexts`, with the time zone of the token in the link; null if it is not known. */
export async function sendersReading(
  services: Parts,
  channel: LinkedChannel,
  sent: Sent,
): Promise<{ texts: LocalTexts; timezone: string | null }> {
  const claims = await linkedClaims(services, channel, sent);
  return { texts: services.texts.in(claims?.locale, sent.locale), timezone: claims?.timezone ?? null };
}

/** Null if there is no link of this sender with a token that has not expired, or if the store cannot be reached. */
async function linkedClaims(services: Parts, channel: LinkedChannel, sent: Sent) {
  const found = await findLink(services, channel, sent.user_id).catch((error: unknown) => {
    if (error instanceof StoreUnavailable) return null;
    throw error;
  });
  if (found === null || effectiveExpiry(found) <= services.clock.now()) return null;
  return isSenders(found, channel, sent) ? claimsOfStoredToken(found.token) : null;
}
