import type { RecordedRun, Recording, Replayed, ReplayedCall } from '../../daemon/admin/replay.ts';
import { wrapText } from '../../daemon/admin/texts.ts';
import { isoTime } from '../names/typed-values.ts';
import type { Output } from '../output.ts';

/** The width of both columns together if the output is not a terminal. */
const USUAL_WIDTH = 120;
const GAP = ' | ';

/** A replay as `--json` prints it. */
export function replayView(
  recording: Recording,
  recorded: RecordedRun,
  { calls, runs, agent_digest }: Replayed,
) {
  const { turn_id, request_id, message_id, platform, recorded_at } = recording;
  return {
    turn_id,
    request_id,
    message_id,
    channel: platform,
    recorded_at: isoTime(recorded_at),
    text: recorded.given.text,
    /** Whether instructions, tools or model are others than in the recorded run. */
    agent_changed: agent_digest !== recorded.agent_digest,
    recorded: {
      answer: recorded.said,
      failure: recorded.outcome === 'answered' ? null : recorded.outcome,
      calls,
      agent_digest: recorded.agent_digest,
      models: [...new Set(recorded.model_calls.map(({ model }) => model))],
      warnings: recorded.warnings,
    },
    runs: runs.map(({ differs, ...run }) => ({
      ...run,
      differs: differs.answer || differs.calls,
      in: differs,
    })),
    differs: runs.some(({ differs }) => differs.answer || differs.calls),
  };
}

type View = ReturnType<typeof replayView>;

export function replayInWords(view: View, out: Pick<Output, 'width'>): string {
  const width = Number.isFinite(out.width) ? out.width : USUAL_WIDTH;
  const head = [
    `message: ${view.text}`,
    `recorded: ${view.recorded_at} on ${view.channel}, turn ${view.turn_id}`,
    ...(view.agent_changed ? ['The instructions, the tools or the model have changed since.'] : []),
  ];
  const parts = view.runs.flatMap((run, index) => {
    const place = view.runs.length === 1 ? 'replayed' : `replayed, run ${index + 1} of ${view.runs.length}`;
    const spent = `${run.input_tokens + run.output_tokens} tokens, ${run.took_ms} ms`;
    return [
      '',
      ...sideBySide('recorded', `${place} (${spent})`, width),
      ...sideBySide('-'.repeat(width), '-'.repeat(width), width),
      ...sideBySide(formatAnswer(view.recorded), formatAnswer(run), width),
      ...sideBySide('', '', width),
      ...sideBySide(callsInWords(view.recorded.calls), callsInWords(run.calls), width),
      '',
      verdict(run.in),
      ...withoutAnswer(run.calls),
    ];
  });
  return [...head, ...parts].join('\n');
}

function formatAnswer({ answer, failure }: { answer: string; failure: string | null }): string {
  const failed = failure === null ? '' : `failed: ${failure}`;
  return [answer.trim(), failed].filter((part) => part !== '').join('\n') || '(no answer)';
}

function callsInWords(calls: readonly ReplayedCall[]): string {
  if (calls.length === 0) return 'no calls';
  return calls.map(callInWords).join('\n');
}

const FROM: Readonly<Record<ReplayedCall['from'], string>> = {
  recording: '',
  live: ' (made now)',
  not_recorded: ' (not recorded)',
  held: ' (held: a write)',
};

function callInWords({ tool, args, answer, from }: ReplayedCall, index: number): string {
  const failed = answer.ok ? '' : ` -> ${answer.message}`;
  return `${index + 1}. ${tool} ${JSON.stringify(args ?? {})}${FROM[from]}${from === 'recording' ? failed : ''}`;
}

function verdict({ answer, calls }: View['runs'][number]['in']): string {
  const parts = [...(answer ? ['the answer'] : []), ...(calls ? ['the calls'] : [])];
  return parts.length === 0 ? 'No difference.' : `Different: ${parts.join(' and ')}.`;
}

/** The recorded run did not make these calls, so the answer that was given after them says little. */
function withoutAnswer(calls: readonly ReplayedCall[]): string[] {
  if (!calls.some(({ from }) => from === 'not_recorded')) return [];
  return [
    'Calls that were not recorded got no answer. To give them one, make a case with `agentd eval add`, and write it under `stubs`.',
  ];
}

/** Two texts in two columns. */
function sideBySide(left: string, right: string, width: number): string[] {
  const column = Math.floor((width - GAP.length) / 2);
  const [lefts, rights] = [left, right].map((text) => lines(text, column)) as [string[], string[]];
  return Array.from({ length: Math.max(lefts.length, rights.length) }, (_, index) =>
    `${(lefts[index] ?? '').padEnd(column)}${GAP}${rights[index] ?? ''}`.trimEnd(),
  );
}

function lines(text: string, width: number): string[] {
  if (/^-+$/.test(text)) return ['-'.repeat(width)];
  return text.split('\n').flatMap((line) => wrapText(line, width).flatMap((part) => pieces(part, width)));
}

/** A word that is longer than the column is cut into pieces. */
function pieces(line: string, width: number): string[] {
  return line.length <= width ? [line] : (line.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [line]);
}
