import { CORE_SCHEMA, load, mergeTag, YAMLException } from 'js-yaml';
import { isObject } from '../../channel/json-object.ts';
import { createLineFinder, type DocumentPath } from '../syntax/yaml-lines.ts';
import { compileSchema } from '../tools/schema/compile-schema.ts';
import { describeErrors } from '../tools/schema/describe-errors.ts';
import { DEFAULT_CHANNEL, EVAL_SCHEMA } from './case-schema.ts';

/** A conversation that is run as a test (agentd-eval(1)). */
export interface EvalCase {
  /** The file, and the line at which the case begins. */
  file: string;
  line: number | null;
  name: string;
  /** The claims of the person who speaks; null: nobody is signed in. */
  as: (Readonly<Record<string, unknown>> & { sub: string }) | null;
  channel: string;
  user: string | null;
  /** The time of the first message, ms since the epoch; null: now. */
  at: number | null;
  tools: 'recorded' | 'live';
  stubs: ReadonlyMap<string, readonly Stub[]>;
  recorded: readonly RecordedResult[];
  before: readonly { say: string; reply: string }[];
  remembered: readonly string[];
  turns: readonly EvalTurn[];
  canaries: readonly string[];
  repeat: number;
  rubric: readonly string[];
}

export interface Stub {
  args: Readonly<Record<string, unknown>>;
  status: number;
  result: unknown;
}

export interface RecordedResult {
  tool: string;
  args: unknown;
  answer: { ok: true; result: unknown } | { ok: false; message: string };
}

export interface EvalTurn {
  say: string;
  expect: {
    matches: readonly RegExp[];
    lacks: readonly string[];
    /** Null: any calls. */
    calls: readonly { tool: string; args: Readonly<Record<string, unknown>> }[] | null;
    /** Null: it does not matter. */
    asks: boolean | null;
  };
}

export interface CaseProblem {
  /** `orders.yaml, line 4` */
  location: string;
  problem: string;
}

type Written = Readonly<Record<string, unknown>>;

/** Maximum size of a file of cases, characters. */
const FILE_MAX = 16_777_216;

/** Reads the cases of a file, with all problems that can be found without running them. */
export function readCases(file: string, content: string): { cases: EvalCase[]; problems: CaseProblem[] } {
  const problems: CaseProblem[] = [];
  const findLine = createLineFinder(content);
  const locate = (path: DocumentPath) => {
    const line = findLine(path);
    return line === null ? file : `${file}, line ${line}`;
  };
  const document = parse(content);
  if (!document.ok)
    return { cases: [], problems: [{ location: `${file}${document.at}`, problem: document.problem }] };
  if (!Array.isArray(document.value))
    return { cases: [], problems: [{ location: file, problem: 'is not a list of cases' }] };
  const cases: EvalCase[] = [];
  for (const [index, written] of document.value.entries()) {
    const found = problemsOfSchema([written]).map((problem) => ({ location: locate([index]), problem }));
    if (found.length > 0) {
      problems.push(...found);
      continue;
    }
    const report = (path: DocumentPath, problem: string) =>
      void problems.push({ location: locate([index, ...path]), problem });
    cases.push({ ...readCase(written as Written, report), file, line: findLine([index]) });
  }
  return { cases, problems };
}

function parse(content: string): { ok: true; value: unknown } | { ok: false; problem: string; at: string } {
  if (content.length > FILE_MAX)
    return { ok: false, problem: `has more than ${FILE_MAX} characters`, at: '' };
  if (content.trim() === '') return { ok: true, value: [] };
  try {
    return { ok: true, value: load(content, { schema: CORE_SCHEMA.withTags(mergeTag) }) };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark === undefined ? '' : `, line ${error.mark.line + 1}`;
    return { ok: false, problem: `is not YAML: ${error.reason}`, at: line };
  }
}

function problemsOfSchema(value: unknown): string[] {
  const { validate } = compileSchema(EVAL_SCHEMA);
  if (validate(value)) return [];
  return [describeErrors(validate.errors ?? [], value).replaceAll('argument `[0].', '`')];
}

type Report = (path: DocumentPath, problem: string) => void;

/** @param written a case that fits the schema */
function readCase(written: Written, report: Report): Omit<EvalCase, 'file' | 'line'> {
  const { name, as = 'nobody', channel = DEFAULT_CHANNEL, user = null, at, repeat = 1 } = written;
  const tools = written.tools ?? 'recorded';
  const person = isObject(as) ? (as as EvalCase['as']) : null;
  if (tools === 'live' && person !== null)
    report(['tools'], 'is `live`, but `as` is a person: live reads are made as nobody only');
  const time = at === undefined ? null : Date.parse(String(at));
  if (time !== null && Number.isNaN(time)) report(['at'], 'is not a time in ISO 8601');
  const turns = written.turns as readonly Written[];
  const before = (written.before ?? []) as EvalCase['before'];
  const canaries = (written.canaries ?? []) as string[];
  for (const [index, canary] of canaries.entries()) {
    const said = [...turns, ...before].some(({ say }) => contains(String(say), canary));
    if (said) report(['canaries', index], 'is in what the case says itself, so it would always be found');
  }
  const written_stubs = {
    ...(isObject(tools) ? (tools.stubs as Written) : {}),
    ...(written.stubs as Written),
  };
  return {
    name: String(name),
    as: person,
    channel: String(channel),
    user: user === null ? null : String(user),
    at: time,
    tools: tools === 'live' ? 'live' : 'recorded',
    stubs: new Map(Object.entries(written_stubs).map(([tool, given]) => [tool, readStubs(given)])),
    recorded: ((written.recorded ?? []) as Written[]).map(({ tool, args = {}, result = null, error }) => ({
      tool: String(tool),
      args,
      answer: error === undefined ? { ok: true, result } : { ok: false, message: String(error) },
    })),
    before,
    remembered: (written.remembered ?? []) as string[],
    turns: turns.map((turn, index) =>
      readTurn(turn, (path, problem) => report(['turns', index, ...path], problem)),
    ),
    canaries,
    repeat: Number(repeat),
    rubric: (written.rubric ?? []) as string[],
  };
}

function readStubs(given: unknown): Stub[] {
  const list = (Array.isArray(given) ? given : [given]) as Written[];
  return list.map(({ args = {}, status = 200, json, text }) => ({
    args: args as Stub['args'],
    status: Number(status),
    result: text ?? json ?? null,
  }));
}

function readTurn({ say, expect = {} }: Written, report: Report): EvalTurn {
  const { reply = {}, calls, asks = null } = expect as Written;
  const { matches = [], lacks = [] } = reply as Written;
  const patterns = (Array.isArray(matches) ? matches : [matches]) as string[];
  return {
    say: String(say),
    expect: {
      matches: patterns.flatMap((pattern) => {
        try {
          return [parsePattern(pattern)];
        } catch (error) {
          report(['expect', 'reply', 'matches'], `is not a regular expression: ${(error as Error).message}`);
          return [];
        }
      }),
      lacks: lacks as string[],
      calls:
        calls === undefined
          ? null
          : (calls as (string | Written)[]).map((call) =>
              typeof call === 'string'
                ? { tool: call, args: {} }
                : { tool: String(call.tool), args: (call.args ?? {}) as Written },
            ),
      asks: asks as boolean | null,
    },
  };
}

function parsePattern(written: string): RegExp {
  const [, body, flags] = /^\/(.*)\/([a-z]*)$/s.exec(written) ?? [];
  return new RegExp(body ?? written, (flags ?? '').replaceAll(/[gy]/g, ''));
}

/** Whether the text contains the words, in upper or lower case. */
export function contains(text: string, words: string): boolean {
  return text.toLowerCase().includes(words.toLowerCase());
}
