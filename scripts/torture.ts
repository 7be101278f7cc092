/**
 * `bun run torture [case …] [--list]`: the faults that Stead promises to survive, each as often as it is promised. The gate
 * runs the same tests with fewer rounds. All cases take hours on a small machine; what a case needs and does not find
 * (a Docker engine, root) it says and skips.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CASES, type Case } from './gate/torture-cases.ts'

const root = join(import.meta.dir, '..')
const { values, positionals } = parseArgs({ allowPositionals: true, options: { list: { type: 'boolean' } } })
const unknown = positionals.find((name) => !Object.hasOwn(CASES, name))
if (unknown !== undefined) {
  console.error(`There is no case ${unknown}; there are ${Object.keys(CASES).join(', ')}.`)
  process.exit(2)
}
const chosen = Object.entries(CASES).filter(([name]) => positionals.length === 0 || positionals.includes(name))
if (values.list) {
  for (const [name, { promise }] of chosen) console.log(`${name.padEnd(12)} ${promise}`)
  process.exit(0)
}
const failed: string[] = []
for (const [name, torture] of chosen) if (!(await runCase(name, torture))) failed.push(name)
console.log(failed.length === 0 ? '\nEvery promise held.' : `\nBroken: ${failed.join(', ')}`)
process.exit(failed.length === 0 ? 0 : 1)

/** Runs the tests of one case; what they print, their figures among it, goes straight to the terminal. */
async function runCase(name: string, { promise, files, times = 1, environment }: Case): Promise<boolean> {
  console.log(`\n── ${name}: ${promise}`)
  const startedAt = performance.now()
  const child = Bun.spawn([process.execPath, 'test', ...files, '--timeout=600000', `--rerun-each=${times}`], {
    cwd: root,
    env: { ...process.env, STRICT_TIMES: '1', ...environment },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const isHeld = (await child.exited) === 0
  console.log(`── ${name} ${isHeld ? 'held' : 'BROKEN'} after ${Math.round((performance.now() - startedAt) / 1000)} s`)
  return isHeld
}
