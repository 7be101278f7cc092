/**
 * `bun run endpoints`: writes `tests/endpoints.txt`, one line per route, and `web/docs/http-api.md`. With `--check` it writes
 * nothing and fails when a file would change.
 */
import { join } from 'node:path'
import { readConfig } from '../src/core/config.ts'
import { listRoutes } from '../src/server/api-document/routes.ts'
import { createEmptyApp } from '../src/server/empty-app.ts'
import { writeHttpApi } from './documents/http-api.ts'
import { describeRoutes } from './routes.ts'

const { routes } = createEmptyApp(readConfig({}))
const written = {
  'tests/endpoints.txt': `${describeRoutes(routes).join('\n')}\n`,
  'web/docs/http-api.md': writeHttpApi(listRoutes(routes)),
}

let isOutOfDate = false
for (const [path, actual] of Object.entries(written)) {
  const file = Bun.file(join(import.meta.dir, '..', path))
  if (!process.argv.includes('--check')) {
    await file.write(actual)
    continue
  }
  const expected = (await file.exists()) ? await file.text() : ''
  const changes = [...missingFrom(expected, actual, '+'), ...missingFrom(actual, expected, '-')]
  if (changes.length === 0) continue
  console.error(`${path} is out of date: read the change, then run \`bun run endpoints\`.`)
  console.error(changes.join('\n'))
  isOutOfDate = true
}
process.exit(isOutOfDate ? 1 : 0)

/** Lines of `right` that `left` does not have, each after `mark`. */
function missingFrom(left: string, right: string, mark: string): string[] {
  const known = new Set(left.split('\n'))
  return right
    .split('\n')
    .filter((line) => !known.has(line))
    .map((line) => `${mark} ${line}`)
}
