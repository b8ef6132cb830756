import { jsonObjectOrNull } from '../../channel/json-object.ts';
import {
  type CallJournal,
  type CallReport,
  callAsOperator,
  checkArguments,
  operatorJournal,
  operatorLog,
  questionAbout,
  type ToolArguments,
} from '../../daemon/admin/operator-call.ts';
import { openAdministratorSeal } from '../../daemon/admin/sealing.ts';
import { readConfiguration, type Settings, unusualPlace } from '../../daemon/admin/settings.ts';
import type { Store } from '../../daemon/admin/store.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { type SignOutMarks, tokenValidator, type ValidToken } from '../../daemon/admin/tokens.ts';
import { type Tool, withRegistry } from '../../daemon/admin/tools.ts';
import { noteAudit } from '../../daemon/admin/who.ts';
import { adviceFor } from '../advice/advice.ts';
import { EXIT, failed, misconfigured, usageError } from '../cli-error.ts';
import { defineCommand, type OptionValues } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { jsonText } from '../output.ts';
import { expectConsent, readToken } from '../terminal.ts';
import { withExistingStore, withStore } from '../with-store.ts';
import { findTool } from './tools-show.ts';

export const command = defineCommand({
  description: [
    'Makes one call under the same rules as in a conversation: arguments, bound parameters, credentials, public fields.',
    'With --token it acts as the person of that token, which is validated first. Without --token nobody is signed in. It shows each request without its token, the status of the answer, and the result as the agent would get it.',
    'You confirm instead of the person: before a tool that writes, the command asks you, or needs --yes. Each call is recorded in the audit log, and that of a tool that writes in the journal of actions, with your name.',
    'Exit code 1 if there is no such tool, the token is invalid, or the call fails.',
    'With --json, {tool, credentials, requests: [{method, url, headers, body, credentials, credential, status}], ok, result | message, headers?}.',
  ].join('\n\n'),
  args: {
    '<name>': 'name of the tool, as `agentd tools list` shows it',
    '[json]': 'arguments as a JSON object; default: {}',
  },
  options: {
    '--token [token]':
      'act as the person of this token; without a value, the command prompts for it without echo; `-` reads it from standard input',
    '--yes': 'do not ask before a call that writes',
  },
  examples: {
    'agentd tools call get_user --token - < token.txt': 'Looks up the person of a token.',
    'agentd tools call get_user \'{"email": "ada@example.com"}\'':
      'Shows what somebody who is not signed in sees.',
  },
  json: true,
  async run({ args: [name = '', json = '{}'], options, out }) {
    const given = parse(json);
    const configuration = await readConfiguration(configLocation(options));
    const person = await readPerson(options, configuration.settings, out.note);
    const log = operatorLog(out.note, adviceWithSettings);
    const report = await withRegistry(
      configuration,
      async (registry) => {
        const tool = findTool(name, registry);
        const checked = checkArguments(tool.parameters, given);
        if (!checked.ok) throw failed(checked.message, `The schema is: ${JSON.stringify(tool.parameters)}`);
        if (tool.effect === 'write' && !options.yes) await askFirst(tool, checked.args, person, out.note);
        const make = async (journal: CallJournal | null) => {
          const about = { tool, given, person, registry, log, journal, note: out.note };
          const report = await callAsOperator(about);
          if (report === null) throw failed(`the tool ${tool.name} works only within a conversation`);
          return report;
        };
        const note = (store: Pick<Store, 'audit'>) => {
          const who = person === null ? {} : { who: { person: person.person } };
          return noteAudit(store, { command: 'tools call', about: tool.name, ...who });
        };
        if (tool.effect === 'read') {
          await withExistingStore(options, note);
          return make(null);
        }
        return withStore(options, async (store, settings) => {
          const { seal, knowsKey } = await openAdministratorSeal(settings);
          if (!knowsKey)
            throw misconfigured(
              'the call cannot be recorded: the key that seals records is not known here',
              'Run the command with the STATE_DIR or the TOKEN_ENCRYPTION_KEY of the daemon.',
            );
          await note(store);
          return make(operatorJournal(store, seal, person?.person ?? null));
        });
      },
      { log },
    );
    const places = await Promise.all(report.requests.map(({ credential }) => unusualPlace(credential)));
    out.data(report, () => formatReport(report, places));
    return report.ok ? EXIT.ok : EXIT.no;
  },
});

/** What to do about a reason, if that does not depend on the source of the tool. */
function adviceWithSettings(reason: string): string | undefined {
  const advice = adviceFor(reason);
  return advice?.todo && !advice.todo_of_source ? `${advice.happened} ${advice.todo}` : undefined;
}

function parse(json: string): Readonly<Record<string, unknown>> {
  const given = jsonObjectOrNull(json);
  if (given !== null) return given;
  throw usageError('the arguments are not a JSON object', `Pass one object, for example '{"id": 7}'.`);
}

async function readPerson(
  options: OptionValues & { token?: string | true },
  settings: Settings,
  note: (text: string) => void,
): Promise<ValidToken | null> {
  const { token } = options;
  if (token === undefined) return null;
  const marks: SignOutMarks = {
    covers: async (origin) =>
      (await withExistingStore(options, ({ signOutMarks }) => signOutMarks.covers(origin))) ?? false,
  };
  const validator = await tokenValidator(settings, operatorLog(note), marks);
  const verdict = await validator.validate(await readToken(token === true ? undefined : token, note));
  if (verdict.valid) return verdict;
  throw failed(`the token is invalid: ${verdict.reason}`, 'Check it with `agentd token verify -`.');
}

async function askFirst(
  tool: Tool,
  args: ToolArguments,
  person: ValidToken | null,
  note: (text: string) => void,
): Promise<void> {
  const { name } = tool;
  const question = questionAbout(tool, args);
  // The question is null if the arguments are too long for one.
  note(question === null ? `${printable(name)}\n${jsonText(args)}` : question);
  const whom = person === null ? 'nobody' : `${person.user.email} (${person.user.user_id})`;
  await expectConsent(printable(`Call ${name}, which changes something, as ${whom}?`), {
    unasked: [`${name} writes, and there is no terminal to ask on`, 'Pass --yes.'],
    declined: 'not called',
  });
}

function formatReport(
  { requests, ok, result, message, headers: told = {} }: CallReport,
  places: readonly (string | null)[],
): string {
  const sent = requests.flatMap(({ method, url, headers, body, credentials, status }, index) => [
    `request: ${method} ${url} (credentials: ${credentials}${places[index] ? `, ${places[index]}` : ''})`,
    ...Object.entries(headers).map(([name, value]) => `header: ${name}: ${value}`),
    ...(body === undefined ? [] : [`body: ${JSON.stringify(body)}`]),
    `status: ${status ?? 'no answer'}`,
  ]);
  const end = ok ? `result: ${jsonText(result)}` : `failed; the agent is told: ${printable(message ?? '')}`;
  const heads = Object.entries(told).map(([name, value]) => `response header: ${name}: ${value}`);
  return [...[...sent, ...heads].map(printable), end].join('\n');
}
