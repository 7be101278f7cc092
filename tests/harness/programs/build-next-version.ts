/** Builds the executable of a later version, 9.0.0, with one more table, into the file in the first argument. */
import { join } from 'node:path'
import { buildExecutable } from '../../../scripts/build/executable.ts'
import { ownTarget } from '../../../scripts/build/targets.ts'

const ROOT = join(import.meta.dir, '../../..')
const LAST_LINE = /\]\s*$/
const MIGRATION = `  { name: '9000_of_tomorrow', sql: 'CREATE TABLE tomorrow (id integer PRIMARY KEY) STRICT' },\n]\n`

await buildExecutable(process.argv[2] ?? '', join(ROOT, 'web/dist'), ownTarget(), [
  {
    name: 'next-version',
    setup(builder) {
      builder.onLoad({ filter: /\/migrations\/list\.ts$/ }, async ({ path }) => {
        const list = await Bun.file(path).text()
        if (!LAST_LINE.test(list)) throw new Error(`${path} does not end with its list`)
        return { contents: list.replace(LAST_LINE, MIGRATION), loader: 'ts' }
      })
      builder.onLoad({ filter: /\/src\/core\/version\.ts$/ }, () => ({
        contents: `export const VERSION = '9.0.0'`,
        loader: 'ts',
      }))
    },
  },
])
process.exit(0)
