import { readPressPayload } from '../../channel/index.ts';
import { cutText, escapeControls, maskTokens, printable, wrapText } from '../../daemon/admin/texts.ts';
import { indent } from '../output.ts';
import { isAnswered, type SimulationEvent, type Summary } from './simulation.ts';

/** What the further lines of a text begin with. */
const BESIDE = '    ';
/** Longest text of a platform that is printed, in characters. */
const TEXT_MAX = 20_000;

/** An event as JSON, tokens masked. Times are ms since the epoch, as the platform sends them. */
export function eventAsJson(event: SimulationEvent): string {
  return maskTokens(escapeControls(JSON.stringify(event)));
}

export interface View {
  /** More than one delivery is sent. */
  isOneOfMany: boolean;
  /** Longest line. */
  width: number;
  /** `PlatformSimulator.readable` */
  readable?: ((markup: string) => string) | undefined;
}

/** An event for people; empty if they need not see it. */
export function eventInWords(event: SimulationEvent, view: View): string {
  // A token is found only if no line break is in it.
  const text = maskTokens(words(event, view));
  return text === ''
    ? ''
    : `${text
        .split('\n')
        .flatMap((line) => wrapLine(line, view.width))
        .join('\n')}\n`;
}

/** The lines of a text all begin in the same column. */
function wrapLine(line: string, width: number): string[] {
  if (line.length <= width) return [line];
  const [first = '', ...rest] = wrapText(line.trimStart(), width - BESIDE.length);
  const margin = line.slice(0, line.length - line.trimStart().length);
  return [margin + first, ...rest.map((one) => BESIDE + one)];
}

function words(event: SimulationEvent, { isOneOfMany, readable = (text) => text }: View): string {
  switch (event.type) {
    case 'sent': {
      const { user, place, thread, kind, text, bad_signature } = event;
      const who = [user, place === 'group' ? 'in a group' : 'to the bot', thread && `thread ${thread}`];
      const isPress = kind === 'press';
      const how = [kind !== 'message' && !isPress && kind, bad_signature && 'bad signature'];
      const marks = how.filter(Boolean).join(', ');
      // The payload of a button says nothing to people.
      const words = isPress ? pressInWords(text) : paragraph(text);
      return `→ ${printable(who.filter(Boolean).join(', '))}${marks && ` [${marks}]`}${words && `: ${words}`}`;
    }
    case 'answer': {
      const { status, reason, took_ms, request_id, delivery } = event;
      const request = request_id === null ? '' : `, request ${printable(request_id)}`;
      return `  ${isOneOfMany ? `[${delivery}] ` : ''}${status}${reason ? ` ${printable(reason)}` : ''} after ${took_ms} ms${request}`;
    }
    case 'shown': {
      const { what, to, thread, text, buttons = [] } = event;
      const where = printable([to, thread].filter(Boolean).join(', thread '));
      const choice = buttons.map(({ label }) => `[${printable(label)}]`).join(' ');
      const shown = paragraph(readable(text));
      if (what === 'message') return `← ${where}: ${shown}${choice && `\n    ${choice}`}`;
      if (what === 'edited') return `← ${where}, changed: ${shown}${choice && `\n    ${choice}`}`;
      if (what === 'private') return `← ${where}, in private: ${shown}`;
      // The place may be a long id of the platform, which says nothing here.
      return `← [${SIGNS[what]}]`;
    }
    case 'refused': {
      const { status, asked_for } = event;
      return `← the platform answers ${status} to ${asked_for ? 'the reply, as requested' : 'a call of the channel'}`;
    }
    case 'end':
      return '';
  }
}

function pressInWords(payload: string): string {
  const approve = readPressPayload(payload)?.approve;
  return approve === undefined ? '[button]' : `[button: ${approve === true ? 'yes' : 'no'}]`;
}

const SIGNS = {
  typing: 'an answer is being written',
  read: 'the message was read',
  deleted: 'the message was deleted',
} as const;

function paragraph(text: string): string {
  return indent(cutText(text, TEXT_MAX), BESIDE, '');
}

const WHERE_TO_LOOK =
  'Run `agentd explain` with the request id to see why. `agentd inbox list` shows waiting messages.';

const BLOCKED =
  '`agentd guard list` shows for how long. Wait, or run `agentd guard reset` with the channel and the sender.';

/** The summary line for people. @param until how long the simulation waited, in words */
export function summaryInWords(summary: Summary, until: string): string {
  const { messages, answered, blocked, failed, unanswered, unseen, reasons } = summary;
  const why = reasons.length > 0 ? ` (${printable(reasons.join('; '))})` : '';
  const groups = [
    [answered, 'was answered'],
    [blocked, 'was blocked by the loop guard'],
    [failed, 'failed'],
    [unanswered, `was not answered ${until}`],
    [unseen, 'was sent, but its outcome cannot be seen from here'],
  ] as const;
  const counted = groups.filter(([count]) => count > 0);
  if (messages === 0) return 'No answer is expected.';
  const hint = isAnswered(summary) ? '' : `\n${failed + unanswered > 0 ? WHERE_TO_LOOK : BLOCKED}`;
  if (messages === 1) return `The message ${counted[0]?.[1]}${why}.${hint}`;
  const parts = counted.map(([count, end]) => `${count} ${end.replace(/^was /, '')}`);
  return `${messages} messages: ${parts.join(', ')}${why}.${hint}`;
}

/** Prints a JSON array item by item, each on a line. After `end`, the output is valid JSON, unless it is empty. */
export class JsonArrayWriter {
  readonly #write: (text: string) => void;
  #isEmpty = true;
  #hasEnded = false;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** @param item as JSON. Items after the end are dropped. */
  add(item: string): void {
    if (this.#hasEnded) return;
    this.#write(`${this.#isEmpty ? '[' : ','}\n  ${item}`);
    this.#isEmpty = false;
  }

  /** Prints nothing if the array is empty. */
  end(): void {
    if (!this.#isEmpty) this.#write('\n]\n');
    this.#hasEnded = true;
  }
}
