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
    for (const line of ['hello', ' /new', '/etc/hosts', '/new please'])
      expect(slashCommandIn(line)).toBe(null);
  });

  it('is suggested for a similar word', () => {
    expect(slashCommandIn('/explian')).toEqual({
      note: 'There is no command /explian. Did you mean /explain? /help lists the commands. A message that begins with / needs a space before it.',
    });
  });
});
