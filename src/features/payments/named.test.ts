import { expect, test } from 'bun:test'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../../..')
/** Path prefixes of the payment endpoints. */
const MONEY =
  /^\/(?:api\/(?:x402|underground|v1\/gateway|credits|skills|wallet|billing|subscriptions|payments|webhooks\/stripe|receipts|ledger|admin\/bus)|v1\/(?:paid-fetch|skills))(?![\w-])/
/**
 * The first argument of a call whose second is a function, such as `test('…', async () => …`, also after `.each(…)`.
 */
const TITLE = /[\w)]\(\s*(?:'([^'\n]*)'|"([^"\n]*)"|`([^`]*)`),\s*(?:async\s*)?\(/g

test('every payment endpoint is named by a test that calls it', async () => {
  const titles: string[] = []
  for (const path of new Bun.Glob('**/*.test.ts').scanSync({ cwd: import.meta.dir })) {
    const text = await Bun.file(join(import.meta.dir, path)).text()
    for (const [, ...quoted] of text.matchAll(TITLE)) titles.push(quoted.find((title) => title !== undefined) ?? '')
  }
  const lines = (await Bun.file(join(ROOT, 'tests/endpoints.txt')).text()).split('\n')
  const endpoints = lines.flatMap((line) => {
    const [method = '', path = ''] = line.split(' ')
    return MONEY.test(path) ? [`${method} ${path}`] : []
  })
  expect(endpoints.length).toBeGreaterThan(60)
  expect([...new Set(endpoints)].filter((endpoint) => !titles.some((title) => names(title, endpoint)))).toEqual([])
})

/** A title can cover several methods or paths: `POST, DELETE /api/skills: …`. */
function names(title: string, endpoint: string): boolean {
  const [method = '', path = ''] = endpoint.split(' ')
  const isThere = new RegExp(`${path.replaceAll('/', '\\/')}(?![\\w/-])`).test(title)
  return isThere && new RegExp(`\\b${method}\\b`).test(title)
}
