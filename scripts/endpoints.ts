/** `bun run endpoints`: writes `tests/endpoints.txt`, one line a route; `--check` only says whether it is up to date. */
import { join } from 'node:path'
import { readConfig } from '../src/core/config.ts'
import { createEmptyApp } from '../src/server/empty-app.ts'
import { describeRoutes } from './routes.ts'

const file = join(import.meta.dir, '..', 'tests/endpoints.txt')
const actual = `${describeRoutes(createEmptyApp(readConfig({})).routes).join('\n')}\n`

if (process.argv.includes('--check')) {
  const expected = await Bun.file(file)
    .text()
    .catch(() => '')
  const changes = [...missingFrom(expected, actual, '+'), ...missingFrom(actual, expected, '-')]
  if (changes.length > 0) {
    console.error(`tests/endpoints.txt is out of date: read the change, then run \`bun run endpoints\`.`)
    console.error(changes.join('\n'))
  }
  process.exit(changes.length > 0 ? 1 : 0)
}
await Bun.write(file, actual)
process.exit(0)

/** Lines of `right` that `left` has not, each behind `mark`. */
function missingFrom(left: string, right: string, mark: string): string[] {
  const known = new Set(left.split('\n'))
  return right
    .split('\n')
    .filter((line) => !known.has(line))
    .map((line) => `${mark} ${line}`)
}
