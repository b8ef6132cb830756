import { EXAMPLE } from '../../../plugins/names.ts';
import { type LinkHolder, type LinkOutcome, linkUser } from '../../daemon/admin/records.ts';
import { makeSeal, openAdministratorSeal, type Seal } from '../../daemon/admin/sealing.ts';
import { type Store, StoreMissing } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { tokenValidator } from '../../daemon/admin/tokens.ts';
import { listSpellings, noteAudit } from '../../daemon/admin/who.ts';
import { type CliError, failed, misconfigured } from '../cli-error.ts';
import { defineCommand, type OptionValues } from '../command.ts';
import { coreSettings } from '../config-location.ts';
import { channelInWords } from '../names/channel-titles.ts';
import {
  invalidId,
  LINK_ARGUMENTS,
  type LinkableChannel,
  linkableChannel,
  USER_WILL_BE_TOLD,
} from '../names/channel-words.ts';
import { isoTime, relativeTime } from '../names/typed-values.ts';
import { confirm, readToken } from '../terminal.ts';
import { withStore } from '../with-store.ts';

type Linked = Extract<LinkOutcome, { linked: true }>;

export const command = defineCommand({
  description: [
    'From the next message of this user on, the tools act as the person of the token: for 30 days, or until the token expires, whichever is earlier. The token is validated first, in the same way as by the daemon.',
    'The channel need not be active. The token is stored sealed with the key of the daemon, which is read from TOKEN_ENCRYPTION_KEY or from STATE_DIR/encryption-key. If the embedded store exists but its key does not, nothing is linked (exit code 78). If there is no store yet, because the daemon was never started, the command makes the store and the key that the daemon would make. In Redis, the token is sealed only if TOKEN_ENCRYPTION_KEY is set.',
    'If the user has a link to another person whose token has not expired, the command asks for confirmation on a terminal; elsewhere it needs --replace. If the link is replaced, the user is told in the chat, as with `agentd link remove`.',
    'Exit code 1 if the token is invalid, or if the link belongs to another person and is not replaced. The token itself is never printed.',
  ].join('\n\n'),
  args: {
    ...LINK_ARGUMENTS,
    '[token]':
      '`-` reads the token from standard input; without this argument, the command asks for it without echo',
  },
  options: { '--replace': "replace another person's link" },
  examples: {
    'agentd link phone +15550100123 - < token.txt': 'Links a number to the person of a token.',
    'agentd link phone +15550100123': 'Asks for the token, which is not shown.',
    [`agentd link ${EXAMPLE.channel} ${EXAMPLE.user} --replace --json - < token.txt`]:
      'Replaces any existing link, for a script.',
  },
  json: true,
  async run({ args: [word = '', user = '', given], options, out }) {
    const channel = await linkableChannel(options, word);
    const user_id = storedId(channel, user);
    const settings = await coreSettings(options, 'link');
    const tokens = await tokenValidator(settings);
    const token = await readToken(given, out.note);
    const validate = async () => {
      const verdict = await tokens.validate(token);
      if (!verdict.valid) throw invalid(verdict.reason);
    };
    const linkIn = async (store: Store, seal: Seal) => {
      const services = { store, seal, tokens };
      const who = { platform: channel.name, user_id };
      await noteAudit(store, { command: 'link', about: channel.name, who });
      const outcome = await linkUser(services, channel, user_id, token, () => options.replace === true);
      if (outcome.linked) return outcome;
      if (outcome.reason !== 'held_by_another') throw invalid(outcome.reason);
      const { holder } = outcome;
      if (!(await confirm(`${holderInWords(holder, user_id)}. Replace that link?`)))
        throw held(holder, user_id);
      // The administrator has agreed to replace the link of this holder, but not the link of anybody else.
      const again = await linkUser(
        services,
        channel,
        user_id,
        token,
        ({ person }) => person === holder.person,
      );
      if (again.linked) return again;
      if (again.reason === 'held_by_another') throw held(again.holder, user_id);
      throw invalid(again.reason);
    };
    const linked = await withStoreOrCreate(options, validate, linkIn, out.note);
    out.data(toView(linked, channel, user_id), () => formatOutcome(linked, channel, user_id));
  },
});

/**
 * Opens the store and its seal. If there is no store, creates one with a key, as the first start of the daemon does, so
 * that people can be linked before that start.
 * @param beforeMaking runs before a store is created; if it throws, nothing is created
 */
async function withStoreOrCreate<T>(
  options: OptionValues,
  beforeMaking: () => Promise<void>,
  work: (store: Store, seal: Seal) => Promise<T>,
  note: (line: string) => void,
): Promise<T> {
  try {
    return await withStore(
      options,
      async (store, settings) => {
        const { seal, knowsKey } = await openAdministratorSeal(settings);
        if (!knowsKey) throw unknownKey(settings.STATE_DIR);
        return work(store, seal);
      },
      'link',
    );
  } catch (error) {
    if (!(error instanceof StoreMissing)) throw error;
    await beforeMaking();
    return withStore(
      options,
      async (store, settings) => {
        note(
          `created the store ${printable(store.description)}, because it did not exist; a daemon with a different STATE_DIR does not use it`,
        );
        return work(store, await makeSeal(settings, store));
      },
      'link',
      { mayCreate: true },
    );
  }
}

/** The id as links store it, so that the output matches `link list`. */
function storedId(channel: LinkableChannel, user: string): string {
  const [stored] = listSpellings(channel, user);
  if (stored === undefined) throw invalidId(channel, user);
  return stored;
}

/** The error if the key of the daemon is not known here. Without the key, the token would be stored unsealed. */
function unknownKey(stateDir: string): CliError {
  return misconfigured(
    `the key that seals stored tokens is unknown: TOKEN_ENCRYPTION_KEY is not set, and ${stateDir} has no encryption-key`,
    'Run the command with the settings of the daemon. If the daemon has no key yet, start it once.',
  );
}

function held(holder: LinkHolder, user_id: string): CliError {
  return failed(holderInWords(holder, user_id), 'Pass --replace to replace that link.');
}

function invalid(reason: string): CliError {
  return failed(
    `the token is invalid: ${reason}; nothing was linked`,
    'Run `agentd token verify` to see which check fails, and why.',
  );
}

function holderInWords({ claims: { email, sub }, expires_at }: LinkHolder, user_id: string): string {
  return printable(`${user_id} is linked to ${email} (sub ${sub}) until ${isoTime(expires_at)}`);
}

function toView({ verdict, expires_at, replaced }: Linked, { name }: LinkableChannel, user_id: string) {
  const { email, sub, iss, tenant_id } = verdict.claims;
  return {
    linked: true,
    platform: name,
    user_id,
    email,
    person: { sub, issuer: iss ?? null, tenant_id: tenant_id ?? null },
    token_expires_at: isoTime(verdict.expires_at),
    expires_at: isoTime(expires_at),
    notifies_user: replaced !== null,
  };
}

function formatOutcome(
  { verdict, expires_at, replaced }: Linked,
  { name }: LinkableChannel,
  user_id: string,
): string {
  const { email, sub } = verdict.claims;
  const why = expires_at < verdict.expires_at ? 'a link lasts 30 days' : 'then the token expires';
  const left = relativeTime(expires_at, Date.now());
  const told = replaced === null ? '' : `; ${USER_WILL_BE_TOLD}`;
  return printable(
    `linked ${user_id} of ${channelInWords(name)} to ${email} (sub ${sub}) until ${isoTime(expires_at)} (${left}: ${why})${told}`,
  );
}
