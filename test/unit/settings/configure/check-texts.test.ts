import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { checkTexts } from '../../../../src/daemon/settings/configure/check-texts.ts';
import { textsSchema } from '../../../../src/daemon/settings/reference.ts';

function check(value: unknown) {
  return checkTexts({ key: 'texts', value, source: 'agentd.yaml', folder: '/', findLine: () => 7 });
}

describe('texts in the configuration file', () => {
  it('replace the default texts with the same language and name', () => {
    const { replaced, problems } = check({
      de: { confirm: ['ja', ' gerne '], decline: 'nein', confirm_not_done: ' Nicht getan: {action} ' },
      pt_BR: { confirm_button: 'Sim' },
    });
    expect(problems).toEqual([]);
    expect([...replaced]).toEqual([
      ['de', { confirm: ['ja', 'gerne'], decline: ['nein'], confirm_not_done: 'Nicht getan: {action}' }],
      ['pt-br', { confirm_button: 'Sim' }],
    ]);
  });

  it('may be absent', () => {
    expect(checkTexts(undefined)).toEqual({ replaced: new Map(), problems: [] });
    expect(check(null).problems).toEqual([]);
  });

  it.each([
    ['a list', 'texts', 'is not an object'],
    [{ german: {} }, 'texts.german', 'is not a language tag'],
    [{ 'pt-BR': {}, pt_br: {} }, 'texts.pt_br', 'occurs twice'],
    [{ de: 'ja' }, 'texts.de', 'is not an object'],
    [{ de: { confrim: ['ja'] } }, 'texts.de.confrim', 'is not the name of a text'],
    [{ de: { constructor: 'x' } }, 'texts.de.constructor', 'is not the name of a text'],
    [{ de: { confirm: [] } }, 'texts.de.confirm', 'is empty'],
    [{ de: { confirm: [true] } }, 'texts.de.confirm[0]', 'is a boolean; put it in quotes'],
    [{ de: { confirm: 7 } }, 'texts.de.confirm', 'is not a list'],
    [{ de: { confirm: ['!'] } }, 'texts.de.confirm[0]', 'has no letter or digit'],
    [{ de: { confirm: ['x'.repeat(101)] } }, 'texts.de.confirm[0]', 'is too long'],
    [
      { de: { confirm: ['nein', 'ja'], decline: ['Nein.'] } },
      'texts.de.decline',
      'has `Nein.`, which is also a word that confirms',
    ],
    [{ de: { confirm: ['stop'] } }, 'texts.de.decline', 'has `stop`, which is also a word that confirms'],
    [{ de: { confirm_gone: 5 } }, 'texts.de.confirm_gone', 'is a number; put it in quotes'],
    [{ de: { confirm_gone: ' ' } }, 'texts.de.confirm_gone', 'is empty'],
    [{ de: { confirm_gone: '{action}' } }, 'texts.de.confirm_gone', 'has the unknown placeholder {action}'],
    [{ de: { confirm_not_done: 'Nein' } }, 'texts.de.confirm_not_done', 'lacks the placeholder {action}'],
    [{ de: { confirm_button: 'x'.repeat(21) } }, 'texts.de.confirm_button', 'is too long'],
    [{ de: { confirm_button: 'a\nb' } }, 'texts.de.confirm_button', 'has more than one line'],
  ])('are reported with their line if they are invalid: %j', (value, setting, problem) => {
    expect(check(value).problems).toMatchObject([{ setting, problem, source: 'agentd.yaml, line 7' }]);
  });

  it('are reported with a suggestion if their names are misspelled', () => {
    expect(check({ de: { confrim: ['ja'] } }).problems[0]?.right).toBe('confirm, perhaps');
  });

  it('are described by a JSON Schema', () => {
    const fits = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(textsSchema([]));
    expect(fits({ de: { confirm: ['ja'], confirm_not_done: 'Nein: {action}' } })).toBe(true);
    expect(fits({ de: { confrim: ['ja'] } })).toBe(false);
    expect(fits({ de: { confirm_not_done: 'Nein' } })).toBe(false);
    expect(fits({ de: { confirm_button: 'x'.repeat(21) } })).toBe(false);
  });
});
