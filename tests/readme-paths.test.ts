import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { findMissingPaths } from '../scripts/documents/readme-paths.ts'

const root = join(import.meta.dir, '..')

test.each(['src/core/config.ts', 'src/core', 'scripts/run', 'package.json', '.ci/run', 'migrations/'])(
  '`%s` exists',
  (path) => {
    expect(findMissingPaths(`Read \`${path}\`.`, root)).toEqual([])
  },
)

test.each(['src/core/settings.ts', 'scripts/runs', 'nowhere/file.md', './scripts/runs'])('`%s` is missing', (path) => {
  expect(findMissingPaths(`Read \`${path}\`.`, root)).toEqual([path])
})

test.each([
  'text/html',
  'local/echo',
  '/api/keys',
  'bun run check',
  'dist/stead',
  'data/stead.db',
  'DATA_DIR',
  './data',
  'tables.ts',
  '127.0.0.1',
])('`%s` is no path of this repository', (text) => {
  expect(findMissingPaths(`See \`${text}\`.`, root)).toEqual([])
})
