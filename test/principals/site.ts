import type { KnownCode } from './actors.ts';
import type { ChatMove, Platform, Scope } from './chat-histories.ts';
import type { Response } from './connection.ts';
import type { Judge } from './play.ts';
import type { Stage } from './stage.ts';
import {
  EVERYBODY,
  makeLogoutToken,
  type SignOut,
  sidOf,
  subOf,
  type Token,
  type TokenKind,
  tenantOf,
  type Who,
} from './tokens.ts';

/** Makes moves on the pages of the site that connect chats, and judges what the service answers. */
export class Site {
  readonly #stage: Stage;
  /** The links that the site has listed, by id. */
  readonly #listed = new Map<string, { platform: string; user: string; person: string }>();
  /** Called if the link of a user may have changed. */
  readonly #noteLink: (platform: Platform, user: string, who: Who) => void;

  constructor(stage: Stage, noteLink: (platform: Platform, user: string, who: Who) => void) {
    this.#stage = stage;
    this.#noteLink = noteLink;
  }

  async makeCode({ who, token: kind }: Extract<ChatMove, { do: 'make-code' }>): Promise<Judge> {
    const token = this.#token(who, kind);
    const { status, body } = await this.#asks(who, 'POST', '/link/codes', token);
    const { id = null, code = '' } = JSON.parse(body) as Record<string, string | undefined>;
    if (status === 201 && id !== null) this.#stage.actors[who].codes.push({ id, code });
    return (checker) => checker.makeCode(this.#stage.presented(token), token, { status, id });
  }

  async confirm({
    who,
    of,
    back,
    token: kind,
    looks,
  }: Extract<ChatMove, { do: 'confirm' }>): Promise<Judge[]> {
    const id = this.code(of, back)?.id ?? 'unknown';
    const token = this.#token(who, kind);
    const presented = this.#stage.presented(token);
    const judges: Judge[] = [];
    if (looks) {
      const { judge, view } = await this.#view(who, id, token);
      judges.push(judge);
      const isOwn = this.#userOf(view.channel, view.masked_id)?.who === who;
      if (view.state === 'claimed' && !isOwn) {
        const { status } = await this.#asks(who, 'DELETE', `/link/codes/${id}`, token);
        return [...judges, (checker) => checker.code(presented, { id, ends: true }, { status, state: null })];
      }
    }
    const { status, body } = await this.#asks(who, 'POST', `/link/codes/${id}/confirm`, token);
    const { state, channel, masked_id } = JSON.parse(body) as CodeView;
    const linked = status === 200 && state === 'used' ? this.#userOf(channel, masked_id) : null;
    if (linked) this.#noteLink(channel as Platform, linked.user, linked.who);
    return [...judges, (checker) => checker.confirm(presented, token, { id, status })];
  }

  async look({ who, of, back, token: kind, ends }: Extract<ChatMove, { do: 'look' }>): Promise<Judge[]> {
    const id = this.code(of, back)?.id ?? 'unknown';
    const token = this.#token(who, kind);
    if (!ends) return [(await this.#view(who, id, token)).judge];
    const { status } = await this.#asks(who, 'DELETE', `/link/codes/${id}`, token);
    const presented = this.#stage.presented(token);
    return [(checker) => checker.code(presented, { id, ends }, { status, state: null })];
  }

  async #view(who: Who, id: string, token: Token): Promise<{ judge: Judge; view: CodeView }> {
    const presented = this.#stage.presented(token);
    const { status, body } = await this.#asks(who, 'GET', `/link/codes/${id}`, token);
    const view = JSON.parse(body) as CodeView;
    const seen = { status, state: view.state ?? null };
    return { judge: (checker) => checker.code(presented, { id, ends: false }, seen), view };
  }

  async list({ who, token: kind }: Extract<ChatMove, { do: 'list' }>): Promise<Judge> {
    const token = this.#token(who, kind);
    const { status, body } = await this.#asks(who, 'GET', '/links', token);
    const { links = [] } = JSON.parse(body) as {
      links?: { id: string; channel: string; masked_id: string }[];
    };
    for (const { id, channel, masked_id } of links) {
      this.#stage.actors[who].links.push(id);
      const user = this.#userOf(channel, masked_id)?.user ?? '';
      this.#listed.set(id, { platform: channel, user, person: token.person ?? '' });
    }
    const platforms = links.map(({ channel }) => channel);
    return (checker) => checker.list(this.#stage.presented(token), { status, platforms });
  }

  async endLink({ who, of, back, token: kind }: Extract<ChatMove, { do: 'end-link' }>): Promise<Judge[]> {
    const judges = of === who ? [await this.list({ do: 'list', who, token: kind })] : [];
    const { links } = this.#stage.actors[of];
    const id = links.at(-1 - back) ?? 'unknown';
    const token = this.#token(who, kind);
    const { status } = await this.#asks(who, 'DELETE', `/links/${id}`, token);
    const link = this.#listed.get(id) ?? null;
    const presented = this.#stage.presented(token);
    return [...judges, (checker) => checker.endLink(presented, link, status)];
  }

  async signOut({ who, scope, by, again }: Extract<ChatMove, { do: 'sign-out' }>): Promise<Judge> {
    const { world, number, actors } = this.#stage;
    const { logouts } = actors[who];
    const last = again ? logouts.at(-1) : undefined;
    const signOut = last?.signOut ?? this.#signOutOf(who, scope);
    const jti = `${number} ${signOut.iat}`;
    const text = last?.text ?? makeLogoutToken(signOut, jti, by);
    if (last === undefined && by === 'site') logouts.push({ text, signOut });
    const { status } = await world.request(actors[who].address, {
      method: 'POST',
      path: '/backchannel-logout',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ logout_token: text }).toString(),
    });
    const counts = last !== undefined || by === 'site';
    if (counts && status === 200) this.#stage.signedOut.push(signOut);
    return (checker) => {
      if (counts) checker.signOut(signOut);
      const isRight = status === (counts ? 200 : 400);
      return isRight
        ? []
        : [{ kind: counts ? 'refused' : 'not refused', text: `the logout token was answered ${status}` }];
    };
  }

  #signOutOf(who: Who, scope: Scope): SignOut {
    const { number } = this.#stage;
    const device = scope === 'laptop' ? 'laptop' : 'phone';
    return {
      sub: scope === 'phone-only' ? null : subOf(number, scope === 'tenant' ? 'victim' : who),
      tenant: scope === 'tenant' ? tenantOf(number) : null,
      sid: scope === 'all' || scope === 'tenant' ? null : sidOf(number, who, device),
      iat: this.#stage.moment(),
    };
  }

  #asks(who: Who, method: 'GET' | 'POST' | 'DELETE', path: string, token: Token): Promise<Response> {
    const headers = { Authorization: `Bearer ${token.text}` };
    return this.#stage.world.request(this.#stage.actors[who].address, { method, path, headers });
  }

  #token(who: Who, kind: TokenKind): Token {
    return this.#stage.actors[who].token(kind, this.#stage.hour);
  }

  async linkNumber(address: string, number: string, token: Token, off: boolean): Promise<boolean> {
    const { status } = await this.#stage.world.request(address, {
      method: off ? 'DELETE' : 'POST',
      path: `/phonechat/link${off ? `?phone_number=${encodeURIComponent(number)}` : ''}`,
      headers: {
        Authorization: `Bearer ${token.text}`,
        ...(off ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(off ? {} : { body: JSON.stringify({ phone_number: number }) }),
    });
    return status === 200;
  }

  /** The user of a platform whom the site shows in this masked form. */
  #userOf(channel: string | undefined, masked_id: string | undefined): { user: string; who: Who } | null {
    if (channel === undefined || masked_id === undefined) return null;
    const ids = EVERYBODY.flatMap((who) => [
      { who, user: this.#stage.idOn(channel, who) },
      ...(channel === 'phonechat' ? [{ who, user: this.#stage.otherIdOf(who, 'hidden') }] : []),
    ]);
    return ids.find(({ user }) => user.endsWith(masked_id.slice(1))) ?? null;
  }

  code(of: Who, back: number): KnownCode | null {
    return this.#stage.actors[of].codes.at(-1 - back) ?? null;
  }
}

interface CodeView {
  state?: string;
  channel?: string;
  masked_id?: string;
}
