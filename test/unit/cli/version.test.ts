import { expect, it } from 'vitest';
import { version } from '../../../src/daemon/files/version.ts';
import { layoutName } from '../../../src/daemon/store/kernels/sqlite/layout.ts';
import { agentd } from './captured-output.ts';

it('agentd version prints what a bug report needs', async () => {
  expect(await agentd('version')).toEqual({
    code: 0,
    stderr: '',
    stdout: [
      `agentd    ${version()}`,
      'commit    unknown',
      `Node.js   ${process.version}`,
      `layout    ${layoutName()}`,
      `platform  ${process.platform} ${process.arch}`,
      '',
    ].join('\n'),
  });
});

it('agentd version prints the same information as one JSON document', async () => {
  expect(JSON.parse((await agentd('version', '--json')).stdout)).toEqual({
    version: version(),
    commit: null,
    node: process.version,
    layout: layoutName(),
    platform: process.platform,
    arch: process.arch,
  });
});
