import { promisify } from 'node:util';
import { brotliCompress, brotliDecompress, constants } from 'node:zlib';
import type { AgentTurn, ToolAnswer } from '../../agent/index.ts';
import type { Seal } from '../identity/seal.ts';
import { maskSecrets } from '../settings/mask-secrets.ts';
import { maskTokens, type Secret } from '../settings/secret.ts';
import { mapTexts } from '../syntax/json.ts';

/** What a run saw and said, as it is recorded (RECORD_RUNS). It contains no token and no secret of the settings. */
export interface RecordedRun {
  version: 1;
  turn_id: string;
  request_id: string;
  /** `builtin`, `llm`, or the path of a module. */
  runtime: string;
  /** The digest of instructions, tools and model (`agentDigest`). */
  agent_digest: string;
  given: GivenTurn;
  /**
   * The texts in the claims of the person, also in those that the run was not told, so that none of them is left in a
   * case that is made of the recording.
   */
  claims?: readonly string[];
  /** The tools that were offered. */
  tools: readonly { name: string; effect: 'read' | 'write' }[];
  /** The messages of all prompts, each once. */
  messages: readonly unknown[];
  model_calls: readonly RecordedModelCall[];
  /** In the order in which they were answered. */
  tool_calls: readonly RecordedToolCall[];
  /** The text of the agent. */
  said: string;
  /** The whole reply, with the texts of the daemon. Null if there is none. */
  reply: string | null;
  /** `answered`, or the error code of the failure. */
  outcome: string;
  /** Reasons of the trace for which a recording is kept even if nobody marks it. */
  warnings: readonly string[];
  /** Set if the prompts were too large to be recorded completely. */
  cut?: true;
}

/** The message and its context, as the runtime got them: memory, history and what is known of the person. */
export type GivenTurn = Omit<
  AgentTurn,
  'session_id' | 'state' | 'tools' | 'meter' | 'reportWrites' | 'signal' | 'deadline' | 'log'
> & { state: unknown };

export interface RecordedModelCall {
  model: string;
  provider?: string | undefined;
  /** The prompt: places in `messages`. Null if it is not known. */
  prompt: readonly number[] | null;
  output: string;
  tool_calls?: readonly { tool: string; args: string }[];
  /** Why the answer ended, in the words of the AI SDK. */
  finish_reason?: string;
  /** Why the call failed. */
  failure?: string;
  input_tokens: number;
  output_tokens: number;
}

export interface RecordedToolCall {
  tool: string;
  effect: 'read' | 'write';
  /** As the agent gave them: without the bound ones. */
  args: unknown;
  answer: ToolAnswer;
}

const compress = promisify(brotliCompress);
const decompress = promisify(brotliDecompress);

/** Prompts repeat each other, so a window that holds all of them saves most of the space. */
const COMPRESSION = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 22 },
};
/** Maximum size of a recording that is opened, bytes of JSON. */
const OPENED_MAX_BYTES = 67_108_864;

/** Seals a recording. A recording that is copied to another turn cannot be opened. */
export async function closeRecording(seal: Pick<Seal, 'close'>, run: RecordedRun): Promise<string> {
  const packed = await compress(JSON.stringify(run), COMPRESSION);
  return seal.close(packed.toString('base64'), recordingRecord(run.turn_id));
}

/** Opens a recording. Null if no encryption key opens it. */
export async function openRecording(
  seal: Pick<Seal, 'open'>,
  { turn_id, content }: { turn_id: string; content: string },
): Promise<RecordedRun | null> {
  const packed = seal.open(content, recordingRecord(turn_id));
  if (packed === null) return null;
  const json = await decompress(Buffer.from(packed, 'base64'), { maxOutputLength: OPENED_MAX_BYTES });
  return JSON.parse(json.toString('utf8')) as RecordedRun;
}

export function recordingRecord(turn_id: string): string {
  return `recording:${turn_id}`;
}

/** A copy without anything shaped like a token, and without these secrets, in values and in names of members. */
export function maskedCopy<T>(value: T, secrets: readonly Secret[]): T {
  return mapTexts(value, (text) => maskSecrets(maskTokens(text), secrets)) as T;
}
