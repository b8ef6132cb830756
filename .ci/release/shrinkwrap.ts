/**
 * Writes npm-shrinkwrap.json: the packages of package-lock.json that an installation needs, without those for building
 * and testing. npm runs this before it packs, and removes the file afterwards. With the file in the package, each
 * installation gets the versions that were tested.
 */
import { readFileSync, writeFileSync } from 'node:fs';

interface Lock {
  packages: Record<string, { dev?: boolean; devDependencies?: object }>;
}

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock;
const needed = Object.entries(lock.packages).filter(([, { dev }]) => dev !== true);
const packages = Object.fromEntries(needed.map(([path, { devDependencies: _, ...rest }]) => [path, rest]));
writeFileSync('npm-shrinkwrap.json', `${JSON.stringify({ ...lock, packages }, null, 2)}\n`);
