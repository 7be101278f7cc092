import { expect, test } from 'bun:test'
import { join } from 'node:path'
import {
  describeFeatures,
  findFullFolders,
  findLongFunctions,
  findViolations,
  importsOf,
} from './harness/structure/architecture.ts'

const root = join(import.meta.dir, '..')

test('every file imports only from its layer and those below', async () => {
  const paths = [...new Bun.Glob('{src,web,migrations}/**/*.{ts,tsx}').scanSync(root)].filter(
    (path) => !path.startsWith('web/dist/') && !path.endsWith('.d.ts'),
  )
  const sources = new Map(
    await Promise.all(paths.map(async (path) => [path, await Bun.file(join(root, path)).text()] as const)),
  )
  expect(sources.size).toBeGreaterThan(50)
  expect(findViolations(sources)).toEqual([])
  console.info(describeFeatures(sources))
})

test('no function outside tests takes more than 80 lines', async () => {
  const paths = [...new Bun.Glob('{src,web,scripts}/**/*.{ts,tsx}').scanSync(root)].filter(
    (path) => !path.startsWith('web/dist/') && !/\.test\.tsx?$/.test(path),
  )
  const texts = await Promise.all(paths.map(async (path) => [path, await Bun.file(join(root, path)).text()] as const))
  expect(texts.length).toBeGreaterThan(500)
  expect(texts.flatMap(([path, text]) => findLongFunctions(path, text))).toEqual([])
})

test.each([
  ['function long() {', '}'],
  ['export const long = async () => {', '}'],
  ['class Long { long() {', '} }'],
])('findLongFunctions reports a function when it has 81 lines: %s', (head, foot) => {
  const lines = (count: number) => [head, ...Array.from({ length: count - 2 }, () => '  // one line'), foot].join('\n')
  expect(findLongFunctions('src/core/a.ts', lines(80))).toEqual([])
  expect(findLongFunctions('src/core/a.ts', lines(81))).toEqual([
    'src/core/a.ts:1 is a function of 81 lines, more than 80',
  ])
})

test('no folder contains more than 25 files', () => {
  const paths = [...new Bun.Glob('{src,web,tests,scripts}/**/*').scanSync(root)].filter(
    (path) => !path.startsWith('web/dist/'),
  )
  expect(paths.length).toBeGreaterThan(1000)
  expect(findFullFolders(paths)).toEqual([])
})

test('findFullFolders reports a folder when it has 26 files, without those of its own folders', () => {
  const files = (folder: string, count: number) => Array.from({ length: count }, (_, i) => `${folder}/${i}.ts`)
  const paths = [...files('src/core', 25), ...files('src/core/text', 2), ...files('src/http', 26)]
  expect(findFullFolders(paths)).toEqual(['src/http has 26 files, more than 25'])
})

const ALLOWED: [file: string, text: string][] = [
  ['src/core/a.ts', "import { z } from 'zod'\nimport { b } from './b.ts'"],
  [
    'src/db/a.ts',
    "import Database from 'better-sqlite3'\nimport { b } from '../core/b.ts'\nsqlite.transaction(() => {})",
  ],
  ['src/http/a.ts', "import type { Db } from '../db/open.ts'"],
  ['src/adapters/process/a.ts', "import type { Log } from '../../core/log.ts'"],
  [
    'src/features/agents/logs/a.ts',
    "import { b } from '../../accounts/keys/verify.ts'\nimport { c } from '../../../http/c.ts'",
  ],
  ['src/features/agents/logs/a.ts', "import { b } from './web.ts'"],
  ['src/features/web-tools/open.ts', "import { createEgress } from '../../adapters/egress/egress.ts'"],
  ['src/features/web-tools/feeds/a.ts', "import { type Egress, isUnsent } from '../../../adapters/egress/egress.ts'"],
  ['src/features/accounts/open.ts', "import type { Base } from '../base.ts'\nimport { a } from './keys/verify.ts'"],
  [
    'src/features/agents/logs/a.ts',
    'export const a = (deps) => deps.fetch(url) // not fetch(url), and not process.env',
  ],
  ['src/features/agents/logs/a.test.ts', "import { testPlatform } from '../../../../tests/harness/platform.ts'"],
  ['src/db/a.test.ts', "import { migrations } from '../../migrations/list.ts'"],
  [
    'src/server/a.ts',
    "import { migrations } from '../../migrations/list.ts'\nimport { b } from '../features/keys/web.ts'",
  ],
  ['src/serve.ts', "import { a } from './server/app.ts'"],
  ['src/agent/a.ts', "import { a } from '../core/a.ts'\nimport { b } from '../http/sse.ts'"],
  ['src/main.ts', "import { a } from './agent/a.ts'\nexport const b = process.env"],
  ['src/cli/a.ts', "import { a } from '../serve.ts'\nexport const b = process.env.HOME"],
  [
    'web/agents/a.tsx',
    "import type { Agent } from '../../src/features/agents/registry/schemas.ts'\nimport { b } from '../ui/b.tsx'",
  ],
]

test.each(ALLOWED)('an import is allowed: %s %j', (file, text) => {
  expect(findViolations(new Map([[file, text]]))).toEqual([])
})

const REFUSED: [file: string, text: string][] = [
  ['src/features/agents/logs/web.ts', 'export const a = (c) => c.req.json()'],
  ['src/agent/app.ts', 'export const a = (c) => c.req.raw.body'],
  ['src/core/a.ts', "import { a } from '../db/open.ts'"],
  ['src/core/a.ts', "import type { Deps } from '../features/keys/verify.ts'"],
  ['src/db/a.ts', "import { a } from '../http/a.ts'"],
  ['src/http/a.ts', "import { a } from '../adapters/a.ts'"],
  ['src/http/a.ts', "import { a } from '../jobs/queue.ts'"],
  ['src/adapters/a.ts', "import { a } from '../db/open.ts'"],
  ['src/jobs/a.ts', "import {\n  a,\n  b,\n} from '../adapters/a.ts'"],
  ['src/features/agents/logs/a.ts', "import { b } from '../../accounts/keys/web.ts'"],
  ['src/features/agents/logs/a.ts', "import { b } from '../../admin/accounts/list-users.ts'"],
  ['src/features/keys/a.ts', "import { b } from '../logs/b.ts'"],
  ['src/features/agents/logs/a.ts', "export { b } from '../../accounts/keys/backend.ts'"],
  ['src/features/web-tools/feeds/web.ts', "import { createEgress } from '../../../adapters/egress/egress.ts'"],
  ['src/features/base.ts', "import { a } from './people/keys/verify.ts'"],
  ['src/features/accounts/open.ts', "import type { Agents } from '../agents/open.ts'"],
  ['src/features/agents/logs/a.ts', "const b = await import('../../../server/app.ts')"],
  ['src/features/agents/logs/a.ts', "import '../../../agent/a.ts'"],
  ['src/features/agents/logs/a.ts', "import { migrations } from '../../../../migrations/list.ts'"],
  ['src/features/agents/logs/a.ts', "import { testPlatform } from '../../../../tests/harness/platform.ts'"],
  ['src/features/agents/logs/a.ts', "import Database from 'better-sqlite3'"],
  ['src/features/agents/logs/a.ts', 'export const a = () => fetch(url)'],
  ['src/features/agents/logs/a.ts', 'export const a = globalThis.fetch'],
  ['src/features/agents/logs/a.ts', 'export const a = process.env.HOME'],
  ['src/features/agents/logs/a.ts', 'export const a = Bun.env.HOME'],
  ['src/features/agents/logs/a.ts', 'export const a = (db) => db.transaction(() => {})'],
  ['src/features/agents/logs/a.test.ts', "import { a } from '../../../server/app.ts'"],
  ['src/server/a.ts', "import { a } from '../serve.ts'"],
  ['src/serve.ts', "import { a } from './main.ts'"],
  ['src/agent/a.ts', "import { a } from '../features/chat/send.ts'"],
  ['src/agent/a.ts', "import { a } from '../db/open.ts'"],
  ['src/stray.ts', "import { a } from './core/a.ts'"],
  ['web/agents/a.tsx', "import { a } from '../../src/features/agents/agents/provision.ts'"],
  ['web/agents/a.tsx', "import { a } from '../../src/core/money.ts'"],
]

test.each(REFUSED)('an import is refused: %s %j', (file, text) => {
  expect(findViolations(new Map([[file, text]]))).toHaveLength(1)
})

test('findViolations reports an import cycle of any length once', () => {
  const sources = new Map([
    ['src/core/x.ts', "import { y } from './y.ts'"],
    ['src/core/y.ts', "import { z } from './z.ts'"],
    ['src/core/z.ts', "import type { X } from './x.ts'"],
    ['src/core/outside.ts', "import { x } from './x.ts'"],
  ])
  expect(findViolations(sources)).toEqual(['circle: src/core/x.ts → src/core/y.ts → src/core/z.ts → src/core/x.ts'])
})

test('findViolations reports two features that import each other through different files', () => {
  const sources = new Map([
    ['src/features/accounts/a/one.ts', "import { two } from '../b/two.ts'"],
    ['src/features/accounts/b/two.ts', ''],
    ['src/features/accounts/b/three.ts', "import { four } from '../a/four.ts'"],
    ['src/features/accounts/a/four.ts', ''],
    ['src/adapters/git/one.ts', "import { two } from '../files/two.ts'"],
    ['src/adapters/files/two.ts', ''],
    ['src/adapters/files/three.ts', "import { four } from '../git/four.ts'"],
    ['src/adapters/git/four.ts', ''],
  ])
  expect(findViolations(sources)).toEqual([
    'circle of features: accounts/a → accounts/b → accounts/a',
    'circle of features: adapters/files → adapters/git → adapters/files',
  ])
})

test('every form of import is found', () => {
  const text = [
    "import one, { type Two } from './one.ts'",
    "import {\n  three,\n} from './three.ts'",
    "import './four.ts'",
    "export { five } from './five.ts'",
    "export const six = () => import('./six.ts')",
    "type Seven = import('./seven.ts').Seven",
    "import sql from './eight.sql' with { type: 'text' }",
  ].join('\n')
  expect(importsOf('src/core/a.ts', text)).toEqual(
    ['one.ts', 'three.ts', 'four.ts', 'five.ts', 'eight.sql', 'six.ts', 'seven.ts'].map((name) => `src/core/${name}`),
  )
})
