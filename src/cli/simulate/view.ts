import { escapeControls, printable, withoutControls } from '../../daemon/printable.ts';
import { maskTokens } from '../../daemon/secret.ts';
import type { Happening, Summary } from './happening.ts';

/** Longest text of a platform that is printed, characters. */
const TEXT_MAX = 20_000;

/** As JSON, tokens masked; times are ms since the epoch, as the platform gives them. */
export function happeningAsJson(happening: Happening): string {
  return maskTokens(escapeControls(JSON.stringify(happening)));
}

/** The same for people; empty for what they need not see. @param several more than one delivery is sent. */
export function happeningInWords(happening: Happening, several: boolean): string {
  const text = words(happening, several);
  return text === '' ? '' : maskTokens(`${text}\n`);
}

function words(happening: Happening, several: boolean): string {
  switch (happening.type) {
    case 'sent': {
      const { user, place, thread, kind, text, bad_signature } = happening;
      const where = [place === 'group' ? 'in a group' : 'to the bot', thread && `thread ${thread}`];
      const how = [kind !== 'message' && kind, bad_signature && 'badly signed'].filter(Boolean).join(', ');
      const who = [user, ...where]
        .filter(Boolean)
        .map((part) => printable(String(part)))
        .join(', ');
      return `→ ${who}${how && ` [${how}]`}${text && `: ${paragraph(text)}`}`;
    }
    case 'answer': {
      const { status, reason, took_ms, request_id, delivery } = happening;
      const about = request_id === null ? '' : `, request ${printable(request_id)}`;
      return `  ${several ? `[${delivery}] ` : ''}${status}${reason ? ` ${printable(reason)}` : ''} after ${took_ms} ms${about}`;
    }
    case 'shown': {
      const { what, to, thread, text } = happening;
      const where = printable([to, thread].filter(Boolean).join(', thread '));
      if (what === 'message') return `← ${where}: ${paragraph(text)}`;
      if (what === 'private') return `← ${where}, in private: ${paragraph(text)}`;
      return `← ${where}: [${SIGNS[what]}]`;
    }
    case 'refused': {
      const { status, asked_for } = happening;
      return `← the platform answers ${status} to ${asked_for ? 'the reply, as asked for' : 'a call of the channel'}`;
    }
    case 'end':
      return '';
  }
}

const SIGNS = {
  typing: 'an answer is being written',
  read: 'the message was read',
  deleted: 'the message was deleted',
} as const;

/** With its line breaks, indented below who said it. */
function paragraph(text: string): string {
  const cut = text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX).toWellFormed()}…` : text;
  return cut
    .split('\n')
    .map((line, index) => (index === 0 || line === '' ? '' : '    ') + withoutControls(line))
    .join('\n');
}

const WHERE_TO_LOOK = '`agentd explain` tells why, given the request; `agentd inbox list` shows what waits.';

/** What the person is told at the end. @param until how long it was waited for, in words. */
export function summaryInWords(summary: Summary, until: string): string {
  const { messages, answered, blocked, failed, unanswered, unseen, reasons } = summary;
  const why = reasons.length > 0 ? ` (${printable(reasons.join('; '))})` : '';
  const parts = [
    [answered, 'was', 'answered'],
    [blocked, 'was', 'blocked by the loop guard'],
    [failed, 'has', 'failed'],
    [unanswered, 'was', `not answered ${until}`],
    [unseen, 'was', 'sent; what becomes of it cannot be seen from here'],
  ] as const;
  const told = parts.filter(([count]) => count > 0);
  if (messages === 0) return 'Nothing of this has to be answered.';
  const hint = failed + unanswered > 0 ? `\n${WHERE_TO_LOOK}` : '';
  if (messages === 1) return `The message ${told[0]?.[1]} ${told[0]?.[2]}${why}.${hint}`;
  return `${messages} messages: ${told.map(([count, , how]) => `${count} ${how}`).join(', ')}${why}.${hint}`;
}
