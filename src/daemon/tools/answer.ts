import type { AnswerHeaders } from '../../agent/index.ts';
import { maskEchoed } from '../settings/mask-secrets.ts';
import { maskTokens } from '../settings/secret.ts';
import { cutText } from '../texts/printable.ts';
import type { CallClient } from './call-client.ts';
import { type CallOutcome, refusal, signInNeeded } from './call-outcome.ts';
import type { ToolRun } from './perform-call.ts';
import { reduceResult } from './reduce-result.ts';
import type { Need, Sent, Tool, ToolSourceInfo } from './tool.ts';
import { MAX_RESULT_BYTES, type Mask, truncateResult } from './truncate-result.ts';

/** Maximum length of the body of a 4xx that is passed on to the agent, in characters. */
const MAX_REFUSAL_CHARACTERS = 1_000;
/** Maximum number of characters of each thing that a server says that it needs. */
const MAX_NEED_CHARACTERS = 500;
const MAX_MESSAGE_CHARACTERS = 1_000;
/** Maximum size of the headers of an answer, in bytes of JSON. They are a part of the result. */
const MAX_HEADERS_BYTES = 4_096;

/** The outcome of a call that was sent, for the agent, the trace and the journal. */
export function composeAnswer(tool: Tool, sent: Sent, opened: CallClient): CallOutcome {
  const mask = (text: string) => maskTokens(maskEchoed(text, opened.secrets));
  const headers = sent.outcome === 'answered' ? selectHeaders(tool, sent, opened, mask) : undefined;
  const outcome = readOutcome(tool, sent, opened, mask, MAX_RESULT_BYTES - measureHeaders(headers));
  return headers === undefined ? outcome : { ...outcome, answer: { ...outcome.answer, headers } };
}

function readOutcome(tool: Tool, sent: Sent, opened: CallClient, mask: Mask, max_bytes: number): CallOutcome {
  switch (sent.outcome) {
    case 'sign_in_needed':
      return {
        ...signInNeeded('user_token_refused'),
        written: { state: opened.changed ? 'unknown' : 'failed', status: 401 },
      };
    case 'failed': {
      // Requests before the call of an MCP tool, such as the handshake, have no effects.
      const reached = sent.reached || (opened.changed && tool.source.kind !== 'mcp');
      return {
        ...refusal(
          sent.reason,
          mask(failureWords(tool, sent.message, opened)).slice(0, MAX_MESSAGE_CHARACTERS),
        ),
        written: { state: reached ? 'unknown' : 'failed', status: null },
      };
    }
    case 'input_required':
      return {
        ...refuseNeeds(tool, sent.needs, opened, mask),
        written: { state: 'failed', status: null },
      };
    case 'answered': {
      const { status, needs = [] } = sent;
      if (status !== null && status >= 400) return refusedBy(status, sent.result, opened, mask);
      if (sent.is_error) return reportedError(tool, sent.result, opened, mask);
      return {
        answer: {
          ok: true,
          result: truncateResult(filterResult(tool, sent.result, opened), mask, max_bytes),
        },
        // A module returns no status, but the client knows the status of the last answer.
        written: { state: 'done', status: status ?? opened.status },
        ...(needs.length === 0 ? {} : { pages: refuseNeeds(tool, needs, opened, mask).pages }),
      };
    }
  }
}

/** The refusal of a call for which the server needs something from the person first. */
function refuseNeeds(tool: Tool, needs: readonly Need[], opened: CallClient, mask: Mask) {
  const { usedDefault, client } = opened;
  const isPersonal = client.credentials === 'user' || client.credentials === 'exchange';
  const told = usedDefault && tool.public !== 'all' ? 'something else first' : needsInWords(needs, mask);
  const pages = listPages(tool.source, needs, { isPersonal, mask });
  const unshown =
    needs.some(({ url }) => url !== null) && pages.length === 0
      ? ' The person would have to open a page. It cannot be shown, because the other system does not know who the person is.'
      : '';
  return {
    ...refusal('input_required', `Nothing was done: the other system needs ${told}.${unshown}`),
    pages,
  };
}

/**
 * The headers of an answer that the agent may see: those of a result that is shown as a whole. Otherwise they could tell
 * more than the public fields do, for example how many entries a list has.
 */
function selectHeaders(
  tool: Tool,
  { headers, status }: Extract<Sent, { outcome: 'answered' }>,
  { usedDefault }: CallClient,
  mask: Mask,
): AnswerHeaders | undefined {
  const isWhole = !usedDefault || (tool.public === 'all' && (status ?? 200) < 400);
  if (headers === undefined || !isWhole) return undefined;
  return truncateResult(headers, mask, MAX_HEADERS_BYTES) as AnswerHeaders;
}

function measureHeaders(headers: AnswerHeaders | undefined): number {
  return headers === undefined ? 0 : Buffer.byteLength(JSON.stringify(headers));
}

/**
 * The part of a result that the agent may see. Results of a module were reduced when they were fetched. The built-in
 * tools choose their public fields themselves.
 */
function filterResult(tool: Tool, result: unknown, { usedDefault }: CallClient): unknown {
  const isReduced = tool.source.kind === 'module' || tool.source.kind === 'built-in';
  return usedDefault && !isReduced ? reducedForNobody(tool, result) : result;
}

/** The part of a result that may be shown if it was made with default credentials. */
export function reducedForNobody(tool: Tool, result: unknown): unknown {
  if (tool.public === 'all') return result;
  if (tool.public.length > 0) return reduceResult(result, tool.public);
  if (tool.effect === 'write') return { done: true, message: 'It was done. The answer may not be shown.' };
  // Sign-in would make no difference for a tool that never uses the person's token.
  return tool.credentials === 'default'
    ? { message: 'The answer may not be shown.' }
    : {
        sign_in_needed: true,
        message: 'Personal data needs sign-in. Without it, the answer is not shown.',
      };
}

/**
 * Under default credentials, an error message of a source may quote data that the source has read, so only the client's
 * own message is passed on.
 */
function failureWords(tool: Tool, message: string, { usedDefault, failure }: CallClient): string {
  if (!usedDefault || tool.source.kind === 'built-in' || tool.public === 'all') return message;
  return failure ?? 'The tool failed.';
}

function refusedBy(status: number, body: unknown, { usedDefault }: CallClient, mask: Mask): CallOutcome {
  const written = { state: status >= 500 ? 'unknown' : 'failed', status } as const;
  const reason = `http_${status}`;
  if (status >= 500)
    return {
      ...refusal(reason, `The other system cannot answer at the moment (status ${status}).`),
      written,
    };
  if (status === 401)
    return {
      ...refusal(reason, 'The other system does not accept the credentials of this service.'),
      written,
    };
  const told = usedDefault ? '' : toText(body, mask);
  const message = `The call was refused with the status ${status}.${told === '' ? '' : ` The answer was: ${told}`}`;
  return { ...refusal(reason, message), written };
}

/** The answer if the tool ran and its result says that it failed. */
function reportedError(tool: Tool, result: unknown, { usedDefault }: CallClient, mask: Mask): CallOutcome {
  const told = usedDefault && tool.public !== 'all' ? '' : toText(result, mask);
  const message = `The tool reported an error${told === '' ? '.' : `: ${told}`}`;
  return { ...refusal('tool_failed', message), written: { state: 'failed', status: null } };
}

function toText(body: unknown, mask: Mask): string {
  if (body === null || body === undefined) return '';
  const text = typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
  return mask(text).slice(0, MAX_REFUSAL_CHARACTERS).toWellFormed();
}

/** A page that a server asks a person to open. The daemon shows it at the end of the reply, in its own words. */
export interface ServerPage {
  /** `name` of the entry of the server. */
  readonly source: string;
  readonly url: string;
}

/** What a server needs, in words for the agent. */
function needsInWords(needs: readonly Need[], mask: Mask): string {
  const words = needs
    .map(({ message }) => cutText(mask(message), MAX_NEED_CHARACTERS).replace(/[.\s]+$/, ''))
    .filter((message) => message !== '');
  return words.length === 0 ? 'something else first' : words.join('; ');
}

/**
 * The pages that may be shown. What a person does on a page counts for whom the server takes the person to be. A server
 * that does not get the person's credential would take all people for one.
 */
function listPages(
  { name: source }: ToolSourceInfo,
  needs: readonly Need[],
  { isPersonal, mask }: { isPersonal: boolean; mask: (text: string) => string },
): ServerPage[] {
  if (!isPersonal) return [];
  // A page whose address contains a token of the request is not shown.
  return needs.flatMap(({ url }) => (url !== null && mask(url) === url ? [{ source, url }] : []));
}

/** Shows the pages of a call to the person, unless other people would see them, and tells the agent so. */
export function showPages(outcome: CallOutcome, { audience, showPage }: ToolRun): CallOutcome {
  const { pages = [], answer } = outcome;
  if (pages.length === 0) return outcome;
  const isShown = showPage !== null && !audience.shared;
  if (isShown) for (const page of pages) showPage(page);
  const words = isShown
    ? 'The person must open a page. Its address is at the end of your reply: do not write it yourself. Tell the person to ask again afterward.'
    : 'The person must open a page, whose address cannot be shown here. Tell the person to ask again in a private conversation.';
  return {
    ...outcome,
    answer: answer.ok
      ? { ok: true, result: { result: answer.result, note: words } }
      : { ok: false, message: `${answer.message} ${words}` },
  };
}
