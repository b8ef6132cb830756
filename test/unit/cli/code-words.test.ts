import { describe, expect, it } from 'vitest';
import { ADVICE } from '../../../src/cli/advice/advice.ts';
import { entryInWords, GUARD_WORDS, STATE_WORDS } from '../../../src/cli/names/code-words.ts';
import { ERRORS } from '../../../src/daemon/errors.ts';
import { circuitLine, duplicateLine, turnLimitLine } from '../../../src/daemon/guard/verdict.ts';
import { TOKEN_REASONS } from '../../../src/daemon/identity/identity.ts';
import { formatLogLine } from '../../../src/daemon/process/log-line.ts';

const shown = (entry: object) =>
  formatLogLine(JSON.stringify({ level: 'warn', time: '2026-11-28T12:00:00.000Z', ...entry }), {
    color: false,
    beside: entryInWords,
  });

describe('a log line that people read', () => {
  it('says what each code means', () => {
    const codes = [
      ...TOKEN_REASONS,
      ...Object.keys(ERRORS),
      ...Object.keys(ADVICE).filter((code) => code !== 'http_4xx' && code !== 'http_5xx'),
      ...Object.keys(STATE_WORDS),
    ];
    expect(codes.length).toBeGreaterThan(150);
    for (const code of codes) expect(entryInWords({ reason: code }), code).toMatch(/^[A-Z].*\.$/);
    for (const code of Object.keys(ERRORS)) expect(entryInWords({ code }), code).toMatch(/^[A-Z].*\.$/);
  });

  it('keeps the documented lines of the guard, and says who was blocked and why', () => {
    const user = { platform: 'teamchat', user_id: 'U0ADA' };
    const open = circuitLine(user, { reason: 'rate_limit', count: 6, max: 5 } as never);
    const line = shown({ msg: open });
    expect(line).toContain(`${open}  # User U0ADA of teamchat (Slack). The loop guard now blocks the user.`);
    for (const [msg, word] of [
      [open, 'CIRCUIT_OPEN'],
      [duplicateLine(user, 'm1'), 'DUPLICATE'],
      [turnLimitLine('s1', { turns: 9, max: 9 } as never), 'TURN_LIMIT'],
    ] as const)
      expect(shown({ msg }), word).toContain(GUARD_WORDS[word]);
  });

  it('finds a code in its text', () => {
    expect(shown({ channel: 'teamchat', msg: 'tool needs sign-in: no_jwt_context' })).toMatch(
      /no_jwt_context channel=teamchat {2}# The session has no token\. [A-Z].*\.\n$/,
    );
  });

  it('has no words if there is no code, and cannot control the terminal', () => {
    expect(shown({ channel: 'teamchat', msg: 'message answered' })).not.toContain('#');
    expect(shown({ msg: 'platform=x\u001b[2J user=y' })).not.toContain('\u001b');
  });
});
