import { printable, wrapText } from '../../daemon/admin/texts.ts';
import { channelInWords } from '../names/channel-titles.ts';
import { durationInWords, isoTime } from '../names/typed-values.ts';
import type { Column, Output } from '../output.ts';
import { PAINTED, paintedWidth } from '../styled-text.ts';
import type { Snapshot, TopChannel, TopFailure } from '../top/snapshot.ts';

/** The table has at most 80 characters in a line. */
const CHANNEL_COLUMNS: readonly Column<TopChannel>[] = [
  { title: 'CHANNEL', text: ({ channel }) => channelInWords(channel) },
  { title: 'STATE', text: ({ state }) => (state === 'degraded' ? 'warn' : (state ?? '?')) },
  { title: 'RUN', text: ({ running }) => String(running), align: 'right' },
  { title: 'WAIT', text: ({ waiting }) => String(waiting), align: 'right' },
  { title: 'SEND', text: ({ unsent }) => String(unsent), align: 'right' },
  { title: 'FAIL', text: ({ failed }) => String(failed), align: 'right' },
  { title: 'AGE', text: ({ oldest_seconds }) => ageInWords(oldest_seconds), align: 'right' },
  { title: 'OK', text: ({ recent }) => String(recent.answered), align: 'right' },
  { title: 'ERR', text: ({ recent }) => String(recent.failed), align: 'right' },
  { title: 'NO', text: ({ recent }) => String(recent.refused), align: 'right' },
  { title: 'P95', text: ({ p95_ms }) => (p95_ms === null ? '' : inSeconds(p95_ms)), align: 'right' },
];

/** The larger unit of an age: `40 s`, `3 min`, `2 h`, `9 d`. */
function ageInWords(seconds: number | null): string {
  if (seconds === null) return '';
  const [first = '', unit = ''] = durationInWords(seconds).split(' ');
  return `${first} ${unit.startsWith('d') ? 'd' : unit}`;
}

function inSeconds(ms: number): string {
  return ms < 9950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

const FAILURE_COLUMNS: readonly Column<TopFailure>[] = [
  { title: 'FAILED', text: ({ at }) => isoTime(at).slice(11, 19) },
  { title: 'CHANNEL', text: ({ channel }) => channelInWords(channel) },
  { title: 'WHY', json: 'outcome' },
  { title: 'REQUEST', json: 'request_id', narrow: 'cut' },
];

/** The lines of the screen. None is wider than the terminal, since the screen is drawn again over itself. */
export function topLines(snapshot: Snapshot, out: Pick<Output, 'table' | 'width'>): string[] {
  const { at, daemon, channels, blocked, runs, failures } = snapshot;
  const state = daemon === null ? 'the daemon does not answer' : `the daemon is ${printable(daemon)}`;
  const about = [
    ...(runs ? [`agent: ${runs.running} runs, ${runs.waiting} wait`] : []),
    `blocked: ${blocked.users} users, ${blocked.sessions} sessions`,
  ];
  const troubles = channels.flatMap(({ channel, state, detail }) =>
    state === null || state === 'ok' || detail === null
      ? []
      : wrapText(printable(`${channel}: ${detail}`), out.width),
  );
  const table = channels.length === 0 ? 'No channel is active.\n' : out.table(CHANNEL_COLUMNS, channels);
  const failed = failures.length === 0 ? '' : `\n${out.table(FAILURE_COLUMNS, failures)}`;
  const body = [table, ...troubles.map((line) => `${line}\n`), failed].join('\n');
  return [`${isoTime(at).slice(0, 19)}Z  ${state}`, about.join('   '), '', ...body.trimEnd().split('\n')].map(
    (line) => (paintedWidth(line) > out.width ? cut(line, out.width) : line),
  );
}

/** The beginning of a line, without its colors. */
function cut(line: string, width: number): string {
  return [...line.replace(PAINTED, '')].slice(0, width).join('');
}
