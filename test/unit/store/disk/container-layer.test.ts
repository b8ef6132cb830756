import { expect, it } from 'vitest';
import { isInContainerLayer } from '../../../../src/daemon/store/disk.ts';

const OVERLAY = 0x794c7630;
const EXT4 = 0xef53;

it.each([
  ['true in the layer of a Docker container', OVERLAY, '/.dockerenv', {}, true],
  ['true in the layer of a Podman container', OVERLAY, '/run/.containerenv', {}, true],
  ['true in the layer of a Kubernetes pod', OVERLAY, null, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }, true],
  ['false on a volume of a container', EXT4, '/.dockerenv', {}, false],
  ['false on a machine whose root is an overlay, as on a live system', OVERLAY, null, {}, false],
  ['false if the type of the file system is unknown', null, '/.dockerenv', {}, false],
])('isInContainerLayer returns %s', (_where, type, marker, env, expected) => {
  const place = { typeOf: () => type, exists: (path: unknown) => path === marker, env };
  expect(isInContainerLayer('/var/lib/agentd', place)).toBe(expected);
});

it('isInContainerLayer checks the real file system by default', () => {
  expect(isInContainerLayer('/nowhere/at/all')).toBe(false);
});
