import { withRequestContext } from '../../daemon/agent/context.ts';
import { systemClock } from '../../daemon/clock.ts';
import { plainQuestion, questionOf } from '../../daemon/confirmation/question.ts';
import { credentialPlace, isBearer } from '../../daemon/downstream/credential-form.ts';
import type { TokenVerdict } from '../../daemon/identity/identity.ts';
import { importKeys } from '../../daemon/identity/keys.ts';
import { createValidator } from '../../daemon/identity/validator.ts';
import { escapeControls, printable } from '../../daemon/printable.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import { bindTools } from '../../daemon/tools/bind-tools.ts';
import type { CallJournal } from '../../daemon/tools/call-journal.ts';
import { checkArguments } from '../../daemon/tools/check-arguments.ts';
import type { WatchedRequest } from '../../daemon/tools/client-call.ts';
import type { ToolRegistry } from '../../daemon/tools/registry.ts';
import type { Tool, ToolArguments } from '../../daemon/tools/tool.ts';
import { failed, usageError } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { configLocation } from '../config-location.ts';
import { confirm } from '../confirm.ts';
import { EXIT } from '../exit-codes.ts';
import { readToken } from '../read-token.ts';
import { findTool } from '../tools/find-tool.ts';
import { withRegistry } from '../tools/open-registry.ts';
import { operatorContext } from '../tools/operator-context.ts';
import { operatorJournal } from '../tools/operator-journal.ts';
import { operatorLog } from '../tools/operator-log.ts';
import { withStore } from '../with-store.ts';

export const command: Command = {
  name: 'tools call',
  summary: 'Call one tool of the agent, signed in or not.',
  description: [
    'Makes one call under the same rules as in a conversation: arguments, bound parameters, credentials, public fields.',
    'With --token it acts as the person of that token, which is validated first. Without --token nobody is signed in. It shows each request without its token, the status of the answer, and the result as the agent would get it.',
    'You confirm instead of the person: before a tool that writes, the command asks you, or needs --yes. A call of a tool that writes is recorded in the journal of actions, with your name, and in the audit log.',
    'Exit code 1 if there is no such tool, the token is invalid, or the call fails.',
    'With --json, {tool, credentials, requests: [{method, url, headers, body, credentials, credential, status}], ok, result | message, headers?}.',
  ].join('\n\n'),
  args: [
    { name: 'name', sentence: 'name of the tool, as `agentd tools list` shows it', required: true },
    { name: 'json', sentence: 'arguments as a JSON object; default: {}' },
  ],
  options: [
    {
      flags: '--token [token]',
      sentence:
        'act as the person of this token; without a value, the command prompts for it without echo; `-` reads it from standard input',
    },
    { flags: '--yes', sentence: 'do not ask before a call that writes' },
  ],
  examples: [
    { line: 'agentd tools call get_user --token - < token.txt', does: 'Looks up the person of a token.' },
    {
      line: `agentd tools call get_user '{"email": "ada@example.com"}'`,
      does: 'Shows what somebody who is not signed in sees.',
    },
  ],
  json: true,
  async run({ args: [name = '', json = '{}'], options, out }) {
    const given = parse(json);
    const { configure } = await import('../../daemon/configuration/configure.ts');
    const configuration = await configure(configLocation(options));
    const person = await personOf(options.token, configuration.settings, out.note);
    const log = operatorLog(out.note);
    const report = await withRegistry(
      configuration,
      async (registry) => {
        const tool = findTool(name, registry);
        const checked = checkArguments(tool.parameters, given);
        if (!checked.ok) throw failed(checked.message, `The schema is: ${JSON.stringify(tool.parameters)}`);
        if (tool.effect === 'write' && options.yes !== true)
          await askFirst(tool, checked.args, person, out.note);
        const make = (journal: CallJournal | null) =>
          call({ tool, given, person, registry, log, journal, note: out.note });
        if (tool.effect === 'read') return make(null);
        return withStore(options, async (store, settings) =>
          make(await operatorJournal(store, settings, person?.person ?? null)),
        );
      },
      { log },
    );
    out.data(report, () => inWords(report));
    return report.ok ? EXIT.ok : EXIT.no;
  },
};

type Person = Extract<TokenVerdict, { valid: true }> | null;

interface OperatorCall {
  tool: Tool;
  /** The arguments as the operator wrote them, in the names of the tool's schema. */
  given: unknown;
  person: Person;
  registry: ToolRegistry;
  log: ReturnType<typeof operatorLog>;
  /** Null for a call that reads. */
  journal: CallJournal | null;
  note: (text: string) => void;
}

interface CallReport {
  tool: string;
  /** The credentials of the last request, or the policy of the tool if there was no request. */
  credentials: string;
  requests: WatchedRequest[];
  ok: boolean;
  result?: unknown;
  message?: string;
  /** The headers of the API that the agent gets. */
  headers?: Readonly<Record<string, string>>;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw usageError('the arguments are not JSON', `Pass one object, for example '{"id": 7}'.`, { cause });
  }
}

async function personOf(token: unknown, settings: Settings, note: (text: string) => void): Promise<Person> {
  if (token === undefined) return null;
  const validator = createValidator(settings, await importKeys(settings), systemClock, operatorLog(note));
  const verdict = await validator.validate(
    await readToken(typeof token === 'string' ? token : undefined, note),
  );
  if (verdict.valid) return verdict;
  throw failed(`the token is invalid: ${verdict.reason}`, 'Check it with `agentd token verify -`.');
}

async function askFirst(
  tool: Tool,
  args: ToolArguments,
  person: Person,
  note: (text: string) => void,
): Promise<void> {
  const { name } = tool;
  const question = questionOf(tool, args);
  // The question is null if the arguments are too long for one.
  note(question === null ? `${printable(name)}\n${jsonText(args)}` : plainQuestion(question));
  const whom = person === null ? 'nobody' : `${person.user.email} (${person.user.user_id})`;
  const answer = await confirm(printable(`Call ${name}, which changes something, as ${whom}?`));
  if (answer === true) return;
  if (answer === null) throw usageError(`${name} writes, and there is no terminal to ask on`, 'Pass --yes.');
  throw failed('not called');
}

async function call({
  tool,
  given,
  person,
  registry,
  log,
  journal,
  note,
}: OperatorCall): Promise<CallReport> {
  const { signal } = new AbortController();
  const context = operatorContext(person, signal);
  const requests: WatchedRequest[] = [];
  const answer = await withRequestContext(context, async () => {
    const [bound] = bindTools([{ ...tool, confirm: 'never' }], {
      access: registry.access,
      audience: { memory_of: null, shared: false },
      clock: systemClock,
      trace: context.trace,
      journal,
      confirmation: null,
      showPage: ({ source, url }) => note(`${source} asks the person to open this page: ${url}`),
      signal,
      log,
      tool: () => {},
      watch: (request) => void requests.push(request),
    });
    if (!bound) throw failed(`the tool ${tool.name} works only within a conversation`);
    return bound.call(given);
  });
  const credentials = requests.at(-1)?.credentials ?? tool.credentials;
  return { tool: tool.name, credentials, requests, ...answer };
}

function inWords({ requests, ok, result, message, headers: told = {} }: CallReport): string {
  const sent = requests.flatMap(({ method, url, headers, body, credentials, credential, status }) => [
    `request: ${method} ${url} (credentials: ${credentials}${placeOf(credential)})`,
    ...Object.entries(headers).map(([name, value]) => `header: ${name}: ${value}`),
    ...(body === undefined ? [] : [`body: ${JSON.stringify(body)}`]),
    `status: ${status ?? 'no answer'}`,
  ]);
  const end = ok ? `result: ${jsonText(result)}` : `failed; the agent is told: ${printable(message ?? '')}`;
  const heads = Object.entries(told).map(([name, value]) => `response header: ${name}: ${value}`);
  return [...[...sent, ...heads].map(printable), end].join('\n');
}

function placeOf(credential: WatchedRequest['credential']): string {
  return credential === null || isBearer(credential) ? '' : `, ${credentialPlace(credential)}`;
}

function jsonText(value: unknown): string {
  return escapeControls(JSON.stringify(value, null, 2) ?? 'null');
}
