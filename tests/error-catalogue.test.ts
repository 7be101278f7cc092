import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { writeErrorChapter, writeWebhookChapter } from '../scripts/catalogues.ts'
import { CODE_GROUPS, DOCUMENTED_KINDS } from '../src/http/error-codes/catalogue.ts'

const ROOT = join(import.meta.dir, '..')
const SOURCES = [...new Bun.Glob('src/**/*.ts').scanSync(ROOT)].filter(
  (path) => !path.endsWith('.test.ts') && !path.startsWith('src/http/error-codes/'),
)
const texts = await Promise.all(SOURCES.map((path) => Bun.file(join(ROOT, path)).text()))
const codes = new Map(Object.values(CODE_GROUPS).flatMap((group) => Object.entries(group)))

/** Returns the error codes in a source, such as `{ code: 'SOLD_OUT' }`. */
function findCodes(text: string): string[] {
  return [...text.matchAll(/\bcode: '([A-Z]\w+)'/g)].map(([, code = '']) => code)
}

test('the error catalogue lists every error code and no other', () => {
  const given = new Set(texts.flatMap(findCodes))
  expect(findCodes("new AppError('conflict', 'No', { code: 'SOLD_OUT' })")).toEqual(['SOLD_OUT'])
  expect(given.size).toBeGreaterThan(50)
  expect([...given].filter((code) => !codes.has(code)).sort()).toEqual([])
  expect([...codes.keys()].filter((code) => !given.has(code)).sort()).toEqual([])
})

test('the catalogue has each code with the kinds of error that carry it', () => {
  const carried = texts.flatMap((text) => [
    ...text.matchAll(/new AppError\(\s*'(\w+)',\s*(?:'[^']*'|`[^`]*`|\w+),\s*\{\s*code: '([A-Z]\w+)'/g),
  ])
  expect(carried.length).toBeGreaterThan(50)
  const wrong = carried.filter(([, kind, code = '']) => !codes.get(code)?.kinds.some((known) => known === kind))
  expect(wrong.map(([, kind, code]) => `${kind} ${code}`)).toEqual([])
})

test('web/docs/errors.md and webhooks.md match the sources', async () => {
  expect(await Bun.file(join(ROOT, 'web/docs/errors.md')).text()).toBe(writeErrorChapter())
  expect(await Bun.file(join(ROOT, 'web/docs/webhooks.md')).text()).toBe(writeWebhookChapter())
  for (const code of codes.keys()) expect(writeErrorChapter()).toContain(`| \`${code}\` |`)
  expect(writeErrorChapter().match(/^\| [1-5]\d\d \|/gm)?.length).toBe(Object.keys(DOCUMENTED_KINDS).length)
  expect(writeWebhookChapter()).toContain('- `notice.approval_wanted`')
})
