/**
 * `npm run survey -- FILE… [--json]`: what agentd makes of OpenAPI documents. Reads every operation of each document as
 * the daemon does, compiles the schemas of the tools, checks the examples that the document gives for requests, and
 * prints a table and what is refused, by reason. Opens no other files and no connections.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import type { DocumentSurvey } from './survey-document.ts';

const USAGE = 'usage: npm run survey -- FILE... [--json]';
/** A document that takes longer is reported as a failure. */
const MAX_MS = 300_000;
const MAX_REASONS = 20;

const PROGRAM = fileURLToPath(new URL('survey-process.ts', import.meta.url));

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false } },
  allowPositionals: true,
});
if (positionals.length === 0) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  const surveys: DocumentSurvey[] = [];
  for (const path of positionals) {
    const survey = await surveyOf(path);
    if (survey === null) process.exitCode = 1;
    else surveys.push(survey);
  }
  process.stdout.write(values.json ? `${JSON.stringify(surveys, null, 2)}\n` : describe(surveys));
}

async function surveyOf(path: string): Promise<DocumentSurvey | null> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', PROGRAM, path], {
      timeout: MAX_MS,
      maxBuffer: 256 * 1_048_576,
    });
    return JSON.parse(stdout) as DocumentSurvey;
  } catch (error) {
    const { stderr, killed } = error as { stderr?: string; killed?: boolean };
    console.error(
      `${path}: ${killed ? `took more than ${MAX_MS / 1000} s` : (stderr ?? String(error)).trim()}`,
    );
    return null;
  }
}

function describe(surveys: readonly DocumentSurvey[]): string {
  const rows = surveys.map((one) => [
    one.document,
    one.version,
    one.openapi,
    String(one.operations),
    String(one.tools),
    percent(one.tools, one.operations),
    `${one.examples.accepted}/${one.examples.found}`,
    percent(one.examples.accepted, one.examples.found),
    `${one.tokens.median}/${one.tokens.largest}`,
    String(one.start_cpu_ms),
    String(one.compile_cpu_ms),
    String(one.heap_mib),
  ]);
  const titles = [
    'DOCUMENT',
    'VERSION',
    'OPENAPI',
    'OPERATIONS',
    'TOOLS',
    '%',
    'EXAMPLES',
    '%',
    'TOKENS',
    'START CPU MS',
    'COMPILE CPU MS',
    'HEAP MIB',
  ];
  const parts = [table([titles, ...rows])];
  for (const { document, refused, examples, renamed } of surveys) {
    if (renamed > 0)
      parts.push(
        `${document}: ${renamed} operations need \`as\`, because their names are taken or too long\n`,
      );
    if (refused.length > 0)
      parts.push(
        `${document}: operations refused\n`,
        ...byReason(refused.map(({ reason, operation }) => [reason, operation])),
      );
    const [alone, both] = [true, false].map((isAlone) =>
      examples.refused.filter(({ plain }) => (plain === null) === isAlone),
    );
    if (alone?.length)
      parts.push(
        `${document}: examples refused, though Ajv alone accepts them\n`,
        ...byReason(alone.map(({ reason, at }) => [reason, at])),
      );
    if (both?.length)
      parts.push(
        `${document}: examples that contradict their schema\n`,
        ...byReason(both.map(({ reason, at }) => [reason, at])),
      );
  }
  const found = sum(surveys, ({ examples }) => examples.found);
  const accepted = sum(surveys, ({ examples }) => examples.accepted);
  const operations = sum(surveys, (one) => one.operations);
  const tools = sum(surveys, (one) => one.tools);
  parts.push(
    `${tools} of ${operations} operations are tools (${percent(tools, operations)} %), ${accepted} of ${found} examples are accepted (${percent(accepted, found)} %)\n`,
  );
  return parts.join('');
}

/** The reasons, the most frequent first, each with its number and one place. */
function byReason(refused: readonly (readonly [reason: string, place: string])[]): string[] {
  const reasons = [...Map.groupBy(refused, ([reason]) => reason)].sort(
    ([a, one], [b, other]) => other.length - one.length || (a < b ? -1 : 1),
  );
  const lines = reasons
    .slice(0, MAX_REASONS)
    .map(([reason, all]) => `  ${all.length}  ${reason} (${all[0]?.[1]})\n`);
  return reasons.length > MAX_REASONS
    ? [...lines, `  and ${reasons.length - MAX_REASONS} more reasons\n`]
    : lines;
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '-' : ((100 * part) / whole).toFixed(1);
}

function sum(surveys: readonly DocumentSurvey[], of: (one: DocumentSurvey) => number): number {
  return surveys.reduce((total, one) => total + of(one), 0);
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map(
      (row) =>
        `${row.map((cell, column) => (column < 3 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ')}\n`,
    )
    .join('');
}
