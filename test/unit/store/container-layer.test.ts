import { expect, it } from 'vitest';
import { isInContainerLayer } from '../../../src/daemon/store/container-layer.ts';

const OVERLAY = 0x794c7630;
const EXT4 = 0xef53;

it.each([
  ['in the layer of a container of Docker', OVERLAY, '/.dockerenv', {}, true],
  ['in the layer of a container of Podman', OVERLAY, '/run/.containerenv', {}, true],
  ['in the layer of a pod', OVERLAY, null, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }, true],
  ['on a volume of a container', EXT4, '/.dockerenv', {}, false],
  ['on a machine whose root is an overlay, as on a live system', OVERLAY, null, {}, false],
  ['if the file system does not report it', null, '/.dockerenv', {}, false],
])('%s', (_where, type, marker, env, expected) => {
  const place = { typeOf: () => type, exists: (path: unknown) => path === marker, env };
  expect(isInContainerLayer('/var/lib/agentd', place)).toBe(expected);
});

it('the check asks the file system itself', () => {
  expect(isInContainerLayer('/nowhere/at/all')).toBe(false);
});
