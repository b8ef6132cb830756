import {
  chownSync,
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  giveDirectoryToOwner,
  giveToOwner,
  makePrivateDirectory,
} from '../../../src/daemon/files/make-directory.ts';
import { makeKeyFile } from '../../../src/daemon/identity/key-file.ts';
import { createPrivateFile } from '../../../src/daemon/store/kernels/sqlite/database.ts';
import { restoreSqliteStore } from '../../../src/daemon/store/kernels/sqlite/restore.ts';
import { openSqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';

// The attack: a user owns the directory in which root creates files, and replaces each new file at once, for example
// with a symbolic link to a file of root. Root must not make the user the owner of that file.

const race = vi.hoisted(() => ({
  /** Runs after a file or directory was made at this path, and before anything else is done with it. */
  onMade: (_path: string) => {},
  /** Opens a directory. */
  open: (_path: string, open: () => number) => open(),
  /** Whether root may change owners. */
  mayChown: true,
}));
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  return {
    ...fs,
    openSync: (...args: Parameters<typeof fs.openSync>) => {
      if (typeof args[1] === 'number') return race.open(String(args[0]), () => fs.openSync(...args));
      const fd = fs.openSync(...args);
      if (args[1] === 'wx') race.onMade(String(args[0]));
      return fd;
    },
    copyFileSync: (...args: Parameters<typeof fs.copyFileSync>) => {
      fs.copyFileSync(...args);
      race.onMade(String(args[1]));
    },
    mkdirSync: (...args: Parameters<typeof fs.mkdirSync>) => {
      const made = fs.mkdirSync(...args);
      race.onMade(String(args[0]));
      return made;
    },
    fchownSync: (...args: Parameters<typeof fs.fchownSync>) => {
      if (race.mayChown) return fs.fchownSync(...args);
      throw Object.assign(new Error('not permitted'), { code: 'EPERM', syscall: 'fchown' });
    },
  };
});
vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof import('node:fs/promises')>();
  return {
    ...fs,
    open: async (...args: Parameters<typeof fs.open>) => {
      const file = await fs.open(...args);
      if (args[1] === 'wx') race.onMade(String(args[0]));
      return file;
    },
  };
});

/** The id of the user who owns the directory. */
const USER = 10001;

let folder: string;
/** The user's directory. */
let theirs: string;
/** A file and a directory of root. */
let victim: string;
let victims: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentd-race-'));
  [theirs, victim, victims] = [join(folder, 'theirs'), join(folder, 'victim'), join(folder, 'victims')];
  mkdirSync(theirs);
  writeFileSync(victim, 'of root', { mode: 0o640 });
  mkdirSync(join(victims, 'full'), { recursive: true });
});
afterEach(() => {
  Object.assign(race, {
    onMade: () => {},
    open: (_path: string, open: () => number) => open(),
    mayChown: true,
  });
  rmSync(folder, { recursive: true });
});

/** Gives the directory to the user, who moves each new file away and puts a link there. @returns the moved paths */
function begin(target: string): string[] {
  chownSync(theirs, USER, USER);
  const made: string[] = [];
  race.onMade = (path) => {
    const moved = `${path}.moved-${made.length}`;
    made.push(moved);
    renameSync(path, moved);
    symlinkSync(target, path);
  };
  return made;
}

const ownerOf = (path: string) => lstatSync(path).uid;

describe.skipIf(process.getuid?.() !== 0)(
  'a user who replaces the files that root creates in their directory',
  () => {
    it('becomes the owner of the created file, and not of the file that is now at its path', () => {
      chownSync(theirs, USER, USER);
      const path = join(theirs, 'file');
      const fd = openSync(path, 'wx', 0o600);
      renameSync(path, `${path}.moved`);
      symlinkSync(victim, path);
      giveToOwner(fd, theirs);
      closeSync(fd);
      expect([ownerOf(victim), ownerOf(`${path}.moved`)]).toEqual([0, USER]);
    });

    it('becomes the owner of no other file when root creates the store', () => {
      const [path, made] = [join(theirs, 'agentd.db'), begin(victim)];
      createPrivateFile(path);
      expect([ownerOf(victim), ...made.map(ownerOf)]).toEqual([0, USER]);
    });

    it('becomes the owner of no other file when root creates the key file', async () => {
      const made = begin(victim);
      await makeKeyFile(theirs);
      expect([ownerOf(victim), ...made.map(ownerOf)]).toEqual([0, USER]);
    });

    it('becomes the owner of no other file when root restores a backup, and the mode of that file does not change', async () => {
      const options = { role: 'daemon', clock: { now: () => Date.now() }, traceRetentionMs: 1000 } as const;
      const [path, backup] = [join(theirs, 'agentd.db'), join(folder, 'backup.db')];
      const store = openSqliteStore(join(folder, 'old', 'agentd.db'), options);
      await store.maintenance.backup(backup);
      await store.close();
      createPrivateFile(join(theirs, 'agentd.lock'));
      const made = begin(victim);
      await expect(restoreSqliteStore(path, backup)).rejects.toThrow('cannot be read as a store');
      expect([ownerOf(victim), statSync(victim).mode & 0o777, ...made.map(ownerOf)]).toEqual([
        0,
        0o640,
        USER,
      ]);
    });

    it('becomes the owner of no other directory', () => {
      begin(victims);
      expect(() => makePrivateDirectory(join(theirs, 'state'), giveDirectoryToOwner)).toThrow(
        /ENOTDIR|ELOOP/,
      );
      expect(ownerOf(victims)).toBe(0);
    });

    it('does not become the owner of a directory of root if a link replaces a parent directory for a moment', () => {
      chownSync(theirs, USER, USER);
      const [above, moved] = [join(theirs, 'a'), join(theirs, 'b')];
      race.open = (path, open) => {
        if (!path.endsWith('full')) return open();
        renameSync(above, moved);
        symlinkSync(victims, above);
        const fd = open();
        rmSync(above);
        renameSync(moved, above);
        return fd;
      };
      makePrivateDirectory(join(above, 'full'), giveDirectoryToOwner);
      expect([ownerOf(above), ownerOf(join(victims, 'full'))]).toEqual([USER, 0]);
    });

    it('does not become the owner of a directory of root that already has files', () => {
      const other = join(theirs, 'of-root');
      mkdirSync(other);
      writeFileSync(join(other, 'file'), '');
      chownSync(theirs, USER, USER);
      const path = join(theirs, 'state');
      race.onMade = () => {
        race.onMade = () => {};
        rmSync(path, { recursive: true });
        renameSync(other, path);
      };
      makePrivateDirectory(path, giveDirectoryToOwner);
      expect(ownerOf(path)).toBe(0);
    });
  },
);

it.skipIf(process.getuid?.() !== 0)(
  'if root may not change owners, it stays the owner of the files that it creates',
  () => {
    chownSync(theirs, USER, USER);
    race.mayChown = false;
    const path = join(theirs, 'state', 'agentd.db');
    createPrivateFile(path);
    expect([ownerOf(join(theirs, 'state')), ownerOf(path)]).toEqual([0, 0]);
  },
);
