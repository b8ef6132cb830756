import { describe, expect, it } from 'vitest';
import { type MemorySender, memoryOwner, personKey } from '../../../src/daemon/identity/identity.ts';

const ada = personKey({ sub: 'ada', iss: 'shop' });

const sender = (members: Partial<MemorySender> = {}): MemorySender => ({
  person: null,
  platform: null,
  user_id: 'u1',
  alias_id: null,
  shared: false,
  ...members,
});

describe('the owner of memories', () => {
  it('is the person of a valid token, on every channel', () => {
    const onTheWeb = memoryOwner(sender({ person: ada }));
    expect(onTheWeb).toEqual({ key: ada, alias: null });
    expect(memoryOwner(sender({ person: ada, platform: 'phone', user_id: '+49', alias_id: 'DE.1' }))).toEqual(
      onTheWeb,
    );
  });

  it('is the verified user of the platform if there is no token', () => {
    expect(memoryOwner(sender({ platform: 'phone', user_id: '+49', alias_id: 'DE.1' }))).toEqual({
      key: 'phone:+49',
      alias: 'DE.1',
    });
    expect(memoryOwner(sender({ platform: 'phone', user_id: 'DE.1', alias_id: 'DE.1' }))).toEqual({
      key: 'phone:DE.1',
      alias: null,
    });
  });

  it('is nobody if a web client only claims a user id', () => {
    expect(memoryOwner(sender({ user_id: 'ada' }))).toBeNull();
  });

  it('is nobody if others can read the conversation, whoever writes', () => {
    expect(memoryOwner(sender({ person: ada, shared: true }))).toBeNull();
    expect(memoryOwner(sender({ platform: 'phone', shared: true }))).toBeNull();
  });

  it('is never the same for a person and a platform user, whatever their ids are', () => {
    const keys = (ids: readonly string[]) => [
      ...ids.map((sub) => memoryOwner(sender({ person: personKey({ sub }) }))?.key),
      ...ids.map((user_id) => memoryOwner(sender({ platform: 'phone', user_id }))?.key),
    ];
    const ids = ['+49', 'phone:+49', 'u:1', 'u', ada, `["","","+49"]`, '["","","phone:+49"]', '[', ''];
    expect(new Set(keys(ids)).size).toBe(2 * ids.length);
  });

  it('is different for each issuer, tenant and subject', () => {
    const persons = [
      personKey({ sub: 'ada' }),
      personKey({ sub: 'ada', iss: 'shop' }),
      personKey({ sub: 'ada', tenant_id: 'shop' }),
      personKey({ sub: 'Ada' }),
    ];
    expect(new Set(persons.map((person) => memoryOwner(sender({ person }))?.key)).size).toBe(4);
  });
});
