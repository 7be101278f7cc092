/**
 * `bun run stress [CASE …] [--list]`: runs tests of CI again with larger counts. All cases take hours on a small
 * machine. Tests whose tools are missing (a Docker engine, root) are skipped with a line.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CASES, type Case } from './cases.ts'

const root = join(import.meta.dir, '../..')
const { values, positionals } = parseArgs({ allowPositionals: true, options: { list: { type: 'boolean' } } })
const unknown = positionals.find((name) => !Object.hasOwn(CASES, name))
if (unknown !== undefined) {
  console.error(`Unknown case ${unknown}. Cases: ${Object.keys(CASES).join(', ')}.`)
  process.exit(2)
}
const chosen = Object.entries(CASES).filter(([name]) => positionals.length === 0 || positionals.includes(name))
if (values.list) {
  for (const [name, { description }] of chosen) console.log(`${name.padEnd(12)} ${description}`)
  process.exit(0)
}
const failed: string[] = []
for (const [name, stress] of chosen) if (!(await runCase(name, stress))) failed.push(name)
console.log(failed.length === 0 ? '\nAll cases passed.' : `\nFailed: ${failed.join(', ')}`)
process.exit(failed.length === 0 ? 0 : 1)

async function runCase(name: string, { description, files, times = 1, environment }: Case): Promise<boolean> {
  console.log(`\n${name}: ${description}`)
  const startedAt = performance.now()
  const child = Bun.spawn([process.execPath, 'test', ...files, '--timeout=600000', `--rerun-each=${times}`], {
    cwd: root,
    env: { ...process.env, STRICT_TIMES: '1', ...environment },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const isOk = (await child.exited) === 0
  console.log(`${name} ${isOk ? 'passed' : 'FAILED'} after ${Math.round((performance.now() - startedAt) / 1000)} s`)
  return isOk
}
