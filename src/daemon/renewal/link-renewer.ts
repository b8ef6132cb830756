import { claimsOfStoredToken } from '../identity/decode-token.ts';
import type { Claims, TokenValidator } from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import type { FoundLink } from '../linking/find-link.ts';
import type { Log } from '../process/log.ts';
import { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import { DAY_MS } from '../store/bounds.ts';
import { type ClientRefusal, type RenewalClaim, toTokenLife } from '../store/links/link-renewals.ts';
import { userOfKey } from '../store/links/links.ts';
import type { Store } from '../store/store.ts';
import { type AlarmClock, every } from '../time/clock.ts';
import { backOff } from '../time/retry.ts';
import { within } from '../time/time-limit.ts';
import type { TokenClient } from '../tools/downstream/token-endpoint.ts';
import type { Observer } from '../trace/observer.ts';
import { type Asked, askForToken } from './ask-for-token.ts';

type RenewalSettings = Pick<
  Settings,
  | 'TOKEN_RENEWAL_URL'
  | 'TOKEN_RENEWAL_CLIENT_ID'
  | 'TOKEN_RENEWAL_CLIENT_SECRET'
  | 'TOKEN_RENEWAL_IDLE_DAYS'
  | 'API_TIMEOUT_SECONDS'
>;

export interface RenewalServices {
  settings: RenewalSettings;
  store: Pick<Store, 'links' | 'linkRenewals' | 'signOutMarks'>;
  seal: Seal;
  tokens: TokenValidator;
  clock: AlarmClock;
  log: Pick<Log, 'info' | 'warn'>;
  observer: Pick<Observer, 'downstreamEnded' | 'tokenRenewed'>;
  /** Tells the user of a link on the platform that it has ended, because the person is no longer signed in. */
  tellEnded(link: { platform: string; user_id: string }, claims: Claims): Promise<void>;
}

/** `ended`: the link was removed. `kept`: it still has its token. */
export type RenewalOutcome = 'renewed' | 'ended' | 'kept';

/** The name under which requests to the token endpoint are counted. */
const SOURCE = 'token_renewal';
/** How often a daemon looks for links that are due, ms. */
const LOOK_MS = 30_000;
/** Maximum number of links for which a look asks, and how many at the same time. */
const LOOK_MAX = 200;
const AT_ONCE = 4;
/** How long a message waits for the new token, ms. The old one is still valid, so it may go on without. */
const MESSAGE_WAIT_MS = 3000;
/** The longest wait after a failure, ms. */
const LONGEST_WAIT_MS = 60 * 60 * 1000;
/** A refused client waits as after this many failures, because only an operator can change that. */
const REFUSED_AS = 6;
/** How much longer than a request a claim lasts, ms. */
const CLAIM_MARGIN_MS = 30_000;
/** How often a new token is stored again, because the old one was sealed anew meanwhile. */
const TRIES_MAX = 3;

/**
 * Renews the tokens of links that were made with a code (agentd-identity(7), "Links that last"): when a message meets a
 * link, and in the background for links that are in use.
 */
export class LinkRenewer {
  readonly #services: RenewalServices;
  readonly #client: TokenClient;
  readonly #underWay = new Map<string, Promise<RenewalOutcome>>();
  #refusal: ClientRefusal | null = null;
  #stopLooking: (() => Promise<void>) | null = null;

  /** @returns null if no token endpoint is configured */
  static of(services: RenewalServices): LinkRenewer | null {
    const { TOKEN_RENEWAL_URL: url, TOKEN_RENEWAL_CLIENT_ID: client_id } = services.settings;
    const client_secret = services.settings.TOKEN_RENEWAL_CLIENT_SECRET;
    if (url === undefined || client_id === undefined || client_secret === undefined) return null;
    return new LinkRenewer(services, { url, client_id, client_secret });
  }

  private constructor(services: RenewalServices, client: TokenClient) {
    this.#services = services;
    this.#client = client;
  }

  /** Begins to look for links that are due. */
  start(): void {
    this.#stopLooking ??= every(this.#services.clock, LOOK_MS, () => this.look());
  }

  async stop(): Promise<void> {
    await this.#stopLooking?.();
    await Promise.allSettled(this.#underWay.values());
  }

  /** Why the issuer refuses this service as a client; null if it does not, as far as is known. */
  get refusal(): ClientRefusal | null {
    return this.#refusal;
  }

  /** Called with each message that meets a link with a valid token. */
  async met({ key, token, stored }: Pick<FoundLink, 'key' | 'token' | 'stored'>): Promise<RenewalOutcome> {
    const renewal = await this.#services.store.linkRenewals.meet(
      key,
      stored,
      toTokenLife(claimsOfStoredToken(token)),
    );
    if (renewal?.isDue !== true) return 'kept';
    return within(this.#renew(key), MESSAGE_WAIT_MS, () => 'kept', this.#services.clock);
  }

  /** Renews the links that are due. Never rejects. */
  async look(): Promise<void> {
    const { store, settings, log } = this.#services;
    try {
      this.#refusal = await store.linkRenewals.refused();
      const idle_ms = settings.TOKEN_RENEWAL_IDLE_DAYS * DAY_MS;
      const due = await store.linkRenewals.due(idle_ms, LOOK_MAX);
      const next = due[Symbol.iterator]();
      const renewAll = async () => {
        for (const key of next) await this.#renew(key);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, renewAll));
    } catch (error) {
      log.warn({ err: error }, 'could not look for links to renew; will try again');
    }
  }

  /** Renews a link, unless that is under way here. Never rejects. */
  #renew(key: string): Promise<RenewalOutcome> {
    const known = this.#underWay.get(key);
    if (known !== undefined) return known;
    const work = this.#renewNow(key)
      .catch((error: unknown): RenewalOutcome => {
        this.#services.log.warn(
          { ...aboutLink(key), err: error },
          'a link could not be renewed; will try again',
        );
        return 'kept';
      })
      .finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, work);
    return work;
  }

  async #renewNow(key: string): Promise<RenewalOutcome> {
    const { store, seal, clock, settings, tokens, observer } = this.#services;
    const timeoutMs = settings.API_TIMEOUT_SECONDS * 1000;
    const claim = await store.linkRenewals.take(key, timeoutMs + CLAIM_MARGIN_MS);
    if (claim === null) return 'kept';
    const token = seal.open(claim.token, key);
    const claims = token === null ? null : claimsOfStoredToken(token);
    if (token === null || claims === null || claims.exp * 1000 <= clock.now()) {
      await store.linkRenewals.stop(claim, token === null ? 'unreadable' : 'expired');
      return 'kept';
    }
    if (await store.signOutMarks.covers(claims)) {
      await store.linkRenewals.endLink(claim);
      return 'ended';
    }
    const asked = await askForToken(
      {
        client: this.#client,
        tokens,
        timeoutMs,
        ended: (status, seconds) => observer.downstreamEnded(SOURCE, status, seconds),
      },
      new Secret(token),
      claims,
    );
    observer.tokenRenewed(asked.outcome);
    return this.#settle(claim, asked, { token, claims });
  }

  async #settle(
    claim: RenewalClaim,
    asked: Asked,
    sent: { token: string; claims: Claims },
  ): Promise<RenewalOutcome> {
    const { log, store, tellEnded } = this.#services;
    const { linkRenewals: renewals } = store;
    const about = { ...aboutLink(claim.key), sub: sent.claims.sub };
    switch (asked.outcome) {
      case 'issued': {
        if (await this.#keep(claim, sent, asked.verdict)) {
          log.info(about, 'the token of a link was renewed');
          this.#refusal = null;
          return 'renewed';
        }
        log.info(about, 'a renewed token was not stored: its link has changed, or its person has signed out');
        return 'kept';
      }
      case 'ended': {
        if (!(await renewals.endLink(claim))) return 'kept';
        log.info(about, 'a link ended: its person is no longer signed in');
        await tellEnded(userOfKey(claim.key), sent.claims);
        return 'ended';
      }
      case 'stopped':
        log.warn({ ...about, reason: asked.reason }, 'the token of a link will not be renewed');
        await renewals.stop(claim, asked.reason);
        return 'kept';
      case 'refused': {
        const count = (await renewals.refused())?.count ?? 0;
        const wait_ms = backOff(count + REFUSED_AS, LONGEST_WAIT_MS, asked.retry_after);
        log.warn(
          { reason: asked.reason },
          'the issuer refuses this service as a client; check TOKEN_RENEWAL_CLIENT_ID and TOKEN_RENEWAL_CLIENT_SECRET',
        );
        await renewals.noteRefused(asked.reason, wait_ms);
        this.#refusal = await renewals.refused();
        await renewals.fail(claim, asked.reason, wait_ms);
        return 'kept';
      }
      case 'failed': {
        const wait_ms = backOff(claim.failures + 1, LONGEST_WAIT_MS, asked.retry_after);
        log.warn(
          { ...about, reason: asked.reason, ...(asked.cause === undefined ? {} : { err: asked.cause }) },
          'the token of a link could not be renewed; will try again',
        );
        await renewals.fail(claim, asked.reason, wait_ms);
        return 'kept';
      }
    }
  }

  /** Stores a new token. Meanwhile, the old one may have been sealed with another key. */
  async #keep(
    claim: RenewalClaim,
    sent: { token: string; claims: Claims },
    { user, claims }: Extract<Asked, { outcome: 'issued' }>['verdict'],
  ): Promise<boolean> {
    const { store, seal } = this.#services;
    const { key } = claim;
    let stored = claim.token;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const token = seal.close(user.token.reveal(), key);
      const renewed = { token, sent: sent.claims, origin: claims, life: toTokenLife(claims) };
      if (await store.linkRenewals.renew({ ...claim, token: stored }, renewed)) return true;
      const link = await store.links.get(key);
      if (link === null || link.token === stored || seal.open(link.token, key) !== sent.token) return false;
      stored = link.token;
    }
    return false;
  }
}

function aboutLink(key: string): { channel: string } {
  return { channel: userOfKey(key).platform };
}
