import { describe, expect, it } from 'vitest';
import {
  SLASH_COMMANDS,
  slashCommandIn,
  slashCommandsInWords,
} from '../../../../src/cli/chat/slash-commands.ts';

describe('a command of the chat', () => {
  it('is alone on its line', () => {
    for (const command of Object.keys(SLASH_COMMANDS)) {
      expect(slashCommandIn(`${command.toUpperCase()} `)).toEqual({ command });
      expect(slashCommandsInWords()).toContain(command);
    }
  });

  it('is not a message that begins with a space or a path', () => {
    for (const line of ['hello', ' /new', '/etc/hosts', '/news please', ' /sign-in token'])
      expect(slashCommandIn(line)).toBe(null);
  });

  it('is not sent as a message with what follows it, which may be a token', () => {
    for (const line of ['/sign-in eyJ.eyJ.sig', '/SIGN-IN\teyJ', '/new please'])
      expect(slashCommandIn(line)).toEqual({
        note: expect.stringMatching(/^\/(sign-in|new) must be alone on its line, so nothing was sent\. /),
      });
  });

  it('is suggested for a similar word', () => {
    expect(slashCommandIn('/explian')).toEqual({
      note: 'There is no command /explian. Did you mean /explain? /help lists the commands. A message that begins with / needs a space before it.',
    });
  });
});
