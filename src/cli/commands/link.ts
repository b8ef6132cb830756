import { EXAMPLE } from '../../../plugins/names.ts';
import { systemClock } from '../../daemon/clock.ts';
import { importKeys } from '../../daemon/identity/keys.ts';
import { openAdministratorSeal } from '../../daemon/identity/open-seal.ts';
import { createValidator } from '../../daemon/identity/validator.ts';
import { writingsOf } from '../../daemon/linking/link-ids.ts';
import { type LinkHolder, type LinkOutcome, link } from '../../daemon/linking/links.ts';
import { printable } from '../../daemon/printable.ts';
import type { Command } from '../command.ts';
import { linkingWords } from '../completion/channel-words.ts';
import { confirm } from '../confirm.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { type LinkableChannel, linkableChannel } from '../linkable-channel.ts';
import { readToken } from '../read-token.ts';
import { isoTime, relativeTime } from '../time-words.ts';
import { withStore } from '../with-store.ts';

type Linked = Extract<LinkOutcome, { linked: true }>;

export const command: Command = {
  name: 'link',
  summary: 'Link a user of a channel to the person of a token.',
  description:
    "From the next message on, the tools act as that person in what this user writes there: for 30 days, or until the token expires, whichever comes first. The token is validated first, as the daemon does it. The channel need not be active. The token is stored sealed with the key of the daemon, which is read from TOKEN_ENCRYPTION_KEY or from STATE_DIR/encryption-key; if neither is there, nothing is linked (exit code 78). Where the user's link is another person's whose token has not expired, it asks on a terminal, and takes --replace elsewhere. Exit code 1 when the token is invalid or the link another's. The token itself is never printed.",
  args: [
    {
      name: 'channel',
      sentence: "the channel's word for linking, or its name",
      required: true,
      values: linkingWords,
    },
    { name: 'user', sentence: 'whom: the id or number that the channel knows them by', required: true },
    { name: 'token', sentence: '`-` reads it from standard input; none asks for it without echo' },
  ],
  options: [{ flags: '--replace', sentence: "also where the link is another person's" }],
  examples: [
    {
      line: 'agentd link phone +15550100123 - < token.txt',
      does: 'Links a number to the person of a token.',
    },
    { line: 'agentd link phone +15550100123', does: 'Asks for the token; what is typed is not shown.' },
    {
      line: `agentd link ${EXAMPLE.channel} ${EXAMPLE.user} --replace --json - < token.txt`,
      does: 'Takes a link over from whoever holds it, for a script.',
    },
  ],
  json: true,
  async run({ args: [word = '', user = '', given], options, out }) {
    const channel = await linkableChannel(options, word);
    const user_id = idOf(channel, user);
    const linked = await withStore(
      options,
      async (store, settings) => {
        const quiet = { info() {}, warn() {} };
        const { seal, knowsKey } = await openAdministratorSeal(settings);
        if (!knowsKey) throw unknownKey(settings.STATE_DIR);
        const services = {
          store,
          clock: systemClock,
          seal,
          // What it would warn of is why the command fails, and told then.
          tokens: createValidator(settings, await importKeys(settings), systemClock, quiet),
          log: quiet,
        };
        const token = await readToken(given, out.note);
        const outcome = await link(services, channel, user_id, token, () => options.replace === true);
        if (outcome.linked) return outcome;
        if (outcome.reason !== 'held_by_another') throw invalid(outcome.reason);
        const { holder } = outcome;
        if (!(await confirm(`${standing(holder, user_id)}. Replace that link?`))) throw held(holder, user_id);
        // Only from the person that was asked about.
        const again = await link(services, channel, user_id, token, ({ person }) => person === holder.person);
        if (again.linked) return again;
        if (again.reason === 'held_by_another') throw held(again.holder, user_id);
        throw invalid(again.reason);
      },
      'link',
    );
    out.data(viewOf(linked, channel, user_id), () => inWords(linked, channel, user_id));
    return EXIT.ok;
  },
};

/** As links are kept, so that what is printed is what `link list` shows. */
function idOf(channel: LinkableChannel, user: string): string {
  const [kept] = writingsOf(channel, user);
  if (kept !== undefined) return kept;
  throw new CliError(
    EXIT.usage,
    `'${printable(user)}' is no ${channel.linking.argument} of ${channel.name}`,
    'Give it as the platform does; `agentd link list` and the log show such ids.',
  );
}

/** A token that is stored without the key of the daemon would lie open in its store. */
function unknownKey(stateDir: string): CliError {
  return new CliError(
    EXIT.config,
    `the key that seals stored tokens is not known here: TOKEN_ENCRYPTION_KEY is not set, and ${stateDir} has no encryption-key`,
    'Run the command with the settings of the daemon; if it has no key yet, start it once.',
  );
}

function held(holder: LinkHolder, user_id: string): CliError {
  return new CliError(EXIT.no, standing(holder, user_id), 'To take the link over, give --replace.');
}

function invalid(reason: string): CliError {
  return new CliError(
    EXIT.no,
    `the token is invalid: ${reason}; nothing was linked`,
    '`agentd token verify` shows which check fails, and why.',
  );
}

function standing({ claims: { email, sub }, expires_at }: LinkHolder, user_id: string): string {
  return printable(`${user_id} is linked to ${email} (sub ${sub}) until ${isoTime(expires_at)}`);
}

function viewOf({ verdict, expires_at }: Linked, { name }: LinkableChannel, user_id: string) {
  const { email, sub, iss, tenant_id } = verdict.claims;
  return {
    linked: true,
    platform: name,
    user_id,
    email,
    person: { sub, issuer: iss ?? null, tenant_id: tenant_id ?? null },
    token_expires_at: isoTime(verdict.expires_at),
    expires_at: isoTime(expires_at),
  };
}

function inWords({ verdict, expires_at }: Linked, { name }: LinkableChannel, user_id: string): string {
  const { email, sub } = verdict.claims;
  const why = expires_at < verdict.expires_at ? 'a link lives 30 days' : 'then the token expires';
  const left = relativeTime(expires_at, systemClock.now());
  return printable(
    `linked ${user_id} of ${name} to ${email} (sub ${sub}) until ${isoTime(expires_at)} (${left}: ${why})`,
  );
}
