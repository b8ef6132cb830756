import { describe, expect, it } from 'vitest';
import { listFindings, traceInWords, traceView } from '../../../src/cli/views/trace-view.ts';
import type { TraceLine, TraceRecord } from '../../../src/daemon/trace/trace-record.ts';
import { capturedOutput } from './captured-output.ts';

const AT = Date.UTC(2026, 0, 15, 12);

function trace(outcome: string, lines: Omit<TraceLine, 'at'>[]): TraceRecord {
  return {
    turn_id: 't1',
    request_id: 'r1',
    session_id: 's1',
    message_id: 'm1',
    platform: 'pigeon',
    user_id: 'alice',
    started_at: AT,
    finished_at: AT + 42,
    outcome,
    lines: lines.map((line, index) => ({ at: AT + index, ...line })),
  };
}

const explained = (record: TraceRecord) => ({ trace: record, waits: null, actions: [], feedback: null });
const words = (record: TraceRecord) => traceInWords(explained(record), capturedOutput().out);
const viewOf = (record: TraceRecord) => traceView(explained(record));

describe('the timeline of a message', () => {
  it('shows the sender, the outcome, and each step with time, verdict, reason and detail', () => {
    const text = words(
      trace('answered', [
        { step: 'identify', verdict: 'ok', reason: 'valid_token', detail: { sub: '42' }, took_ms: 0.4 },
        { step: 'downstream', verdict: 'ok', detail: { credentials: 'user', status: 200 } },
      ]),
    );
    expect(text).toBe(
      [
        '2026-01-15T12:00:00.000Z  pigeon, user alice  answered in 42 ms',
        'request r1  session s1  message m1',
        '',
        'Nothing went wrong with this message.',
        '',
        'TIME (UTC)      TOOK  STEP        VERDICT  REASON       DETAIL',
        '12:00:00.000  0.4 ms  identify    ok       valid_token  sub=42',
        '12:00:00.001          downstream  ok                    credentials=user status=200',
        '',
      ].join('\n'),
    );
  });

  it('keeps each name with its value if the terminal is narrow', () => {
    const { out } = capturedOutput();
    expect(
      traceInWords(explained(trace('answered', [])), { ...out, width: 30 })
        .split('\n')
        .slice(0, 4),
    ).toEqual([
      '2026-01-15T12:00:00.000Z',
      'pigeon, user alice',
      'answered in 42 ms',
      'request r1  session s1',
    ]);
  });

  it('says of an answer that was rated bad how to try it again, and how to make a test of it', () => {
    const given = { turn_id: 't1', request_id: 'r1', session_id: 's1', platform: 'pigeon', user_id: 'alice' };
    const rated = (rating: 1 | -1) => {
      const feedback = { ...given, rating, comment: null, person: null, rated_at: AT };
      return traceInWords({ ...explained(trace('answered', [])), feedback }, capturedOutput().out);
    };
    expect(rated(-1)).toMatch(/agentd replay t1\n.*agentd eval add t1 FILE\nNo step failed\.\n$/);
    expect(rated(-1)).not.toContain('Nothing went wrong');
    expect(rated(1)).toContain('Nothing went wrong');
  });

  it.each([
    [{ state: 'ValidJWT', credentials: 'user', sub: 'ada' }, 'ada', 'The agent acted for the person ada.'],
    [
      { state: 'NoJWT', credentials: 'default' },
      null,
      'Nobody was signed in, so no call used the credentials of a person.',
    ],
  ])('says for whom the agent acted: %o', (detail, acted_for, sentence) => {
    const record = trace('answered', [{ step: 'resolve-principal', verdict: 'ok', detail }]);
    expect(words(record)).toContain(`\n\n${sentence}\nNothing went wrong`);
    expect(viewOf(record).acted_for).toBe(acted_for);
  });

  it('says in words what the state of the session and codes without advice mean', () => {
    const text = words(
      trace('answered', [
        { step: 'resolve-principal', verdict: 'ok', detail: { state: 'NoJWT' } },
        { step: 'downstream', verdict: 'fallback', reason: 'no_jwt_context' },
      ]),
    );
    expect(text).toMatch(/^no_jwt_context {2}The session has no token/m);
    expect(text).toMatch(/^NoJWT {11}Nobody is signed in\.$/m);
  });

  it('shows no direction character of a `sub`', () => {
    const detail = { state: 'ValidJWT', credentials: 'user', sub: 'ada\u202egro.evil\u2066' };
    const record = trace('answered', [{ step: 'resolve-principal', verdict: 'ok', detail }]);
    expect(words(record)).toContain('The agent acted for the person ada\ufffdgro.evil\ufffd.');
    expect(words(record)).not.toMatch(/\p{Bidi_Control}/u);
  });

  it('names no person if the message ended before a person was known', () => {
    const record = trace('loop_guard_blocked', [{ step: 'guard', verdict: 'refused', reason: 'rate_limit' }]);
    expect(words(record)).not.toContain('acted for');
    expect(viewOf(record).acted_for).toBeNull();
  });

  it('explains that a call was refused because nobody was signed in, and mentions no default credentials', () => {
    const lines = [
      { step: 'resolve-principal', verdict: 'fallback', reason: 'no_link' },
      { step: 'credentials', verdict: 'fallback', reason: 'no_jwt_context' },
    ] as const;
    expect(listFindings(trace('answered', [...lines])).map(({ reason }) => reason)).toEqual(['no_link']);
    const refused = { step: 'credentials', verdict: 'refused', reason: 'no_jwt_context' } as const;
    const record = trace('answered', [...lines, refused]);
    expect(listFindings(record).map(({ reason }) => reason)).toEqual(['no_link', 'no_jwt_context']);
    expect(words(record)).not.toContain('default credentials');
  });

  it('explains a refused token only once, with what happened and what to do', () => {
    const record = trace('answered', [
      { step: 'identify', verdict: 'fallback', reason: 'Token Expired' },
      { step: 'resolve-principal', verdict: 'fallback', reason: 'Token Expired' },
    ]);
    expect(listFindings(record).map(({ reason }) => reason)).toEqual(['Token Expired']);
    expect(words(record)).toMatch(
      /Token Expired\n {2}what happened: The token has expired\..*\n {2}what to do: {4}\S/,
    );
  });

  it('does not explain that a message had no token if the session had one, or why it did not count', () => {
    const reasonsAfter = (verdict: 'ok' | 'fallback', reason: string) => {
      const identify = { step: 'identify', verdict: 'ok', reason: 'no_token' } as const;
      const record = trace('answered', [identify, { step: 'resolve-principal', verdict, reason }]);
      return listFindings(record).map((finding) => finding.reason);
    };
    expect(reasonsAfter('ok', 'stored_context')).toEqual([]);
    expect(reasonsAfter('fallback', 'stored_token_expired')).toEqual(['stored_token_expired']);
    expect(reasonsAfter('ok', 'no_token')).toEqual(['no_token']);
  });

  it('names the address of the source whose request failed, not that of the business API', () => {
    const unreachable = (source: string) =>
      ({ step: 'downstream', verdict: 'failed', reason: 'unreachable', detail: { source } }) as const;
    const found = listFindings(trace('answered', ['api', 'shop', 'shop', 'docs'].map(unreachable)));
    expect(found.map(({ happened }) => happened)).toEqual([
      'The business API cannot be reached.',
      'The system of `shop` cannot be reached.',
      'The system of `docs` cannot be reached.',
    ]);
    expect(found[0]?.todo).toContain('Check API_BASE_URL');
    for (const { todo } of found.slice(1)) {
      expect(todo).toMatch(/^Check `base_url` or `mcp` of the entry `/);
    }
  });

  it('explains the cause of a failure instead of its error code', () => {
    const record = trace('agent_failed', [
      { step: 'run-agent', verdict: 'failed', reason: 'model_unreachable' },
    ]);
    expect(listFindings(record).map(({ reason }) => reason)).toEqual(['model_unreachable']);
  });

  it('explains the error code if no line gives the cause', () => {
    expect(listFindings(trace('rate_limited', [])).map(({ reason }) => reason)).toEqual(['rate_limited']);
    const unknown = trace('agent_failed', [
      { step: 'run-agent', verdict: 'failed', reason: 'word_of_a_plugin' },
    ]);
    expect(listFindings(unknown).map(({ reason }) => reason)).toEqual(['agent_failed']);
  });

  it('explains a refused request with the text of its error code', () => {
    const record = trace('malformed_json', [
      { step: 'receive', verdict: 'refused', reason: 'malformed_json' },
    ]);
    expect(listFindings(record)).toMatchObject([
      { reason: 'malformed_json', happened: 'The body is not JSON, or its top level is not an object.' },
    ]);
  });

  it('never says that a failed message succeeded', () => {
    expect(words(trace('word_of_a_plugin', []))).toMatch(
      /It ended with word_of_a_plugin; see `agentd logs --request`\.\n$/,
    );
  });

  it('explains a failure status of the business API', () => {
    const record = trace('answered', [{ step: 'downstream', verdict: 'failed', reason: 'http_503' }]);
    expect(listFindings(record)).toMatchObject([
      { reason: 'http_503', happened: 'The business API failed.' },
    ]);
  });

  it('prints times as ISO 8601 for programs', () => {
    expect(viewOf(trace('answered', [{ step: 'guard', verdict: 'ok' }]))).toMatchObject({
      started_at: '2026-01-15T12:00:00.000Z',
      took_ms: 42,
      lines: [{ at: '2026-01-15T12:00:00.000Z', step: 'guard' }],
      findings: [],
    });
  });

  it('replaces control characters that a client sent', () => {
    const record = { ...trace('answered', []), user_id: 'eve\x1b[2J' };
    expect(words(record)).not.toContain('\x1b');
  });
});
