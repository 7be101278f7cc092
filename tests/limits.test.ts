import { expect, test } from 'bun:test'
import { join } from 'node:path'

const root = join(import.meta.dir, '..')
const LEAST_MS = 300_000
/** Shorter numbers are timers inside of a test. */
const SHORTEST_MS = 5000
/** Matches the last argument of a test, on its closing line or the line before. */
const LIMIT = /^ *(?:\}, )?(\d[\d_]*)(?:\)|,\n *\))$/gm

test('the time limit of a test is at least five minutes, because it only ends tests that hang', async () => {
  const paths = [...new Bun.Glob('{src,tests,web,scripts}/**/*.test.{ts,tsx}').scanSync({ cwd: root })].sort()
  const short: string[] = []
  for (const path of paths) {
    for (const [, limit = ''] of (await Bun.file(join(root, path)).text()).matchAll(LIMIT)) {
      const ms = Number(limit.replaceAll('_', ''))
      if (ms >= SHORTEST_MS && ms < LEAST_MS) short.push(`${path}: ${limit}`)
    }
  }
  expect(short).toEqual([])
})
