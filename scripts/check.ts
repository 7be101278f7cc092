/**
 * `bun run check`: the whole gate, the same as `.ci/run`. One line a step, one a file of tests; the first failed step ends it.
 * `bun run check --all`, before a release: with the tests that the gate leaves out because they take long.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { endCommandsWithProgram, endProgram, runCommand } from './gate/command.ts'
import { checkMigrations, type Outcome } from './gate/migrations.ts'
import { findMissingPaths } from './readme-paths.ts'
import { runTests } from './run-tests.ts'

type Step = readonly [name: string, run: () => Promise<Outcome>]

const root = join(import.meta.dir, '..')
/** A guard against hanging, nothing else. */
const STEP_LIMIT_MS = 30 * 60_000

/** Each thread checks for itself what others check as well: four take twice the processor time of one, and another step is beside it. */
const IN_ONE_THREAD = ['--noEmit', '--singleThreaded'] as const
/** It lives for seconds: collected seldom it takes a sixth less of processor time, and hardly more memory. */
const SELDOM_COLLECTED = { GOGC: '400' }

/** They change nothing, so they run beside the build and the tests, many of which wait more than they work; the longest comes first. */
const CHECKS: readonly Step[] = [
  ['typed client of the dashboard', () => runScript('scripts/client/main.ts')],
  ['types', () => checkTypes('.')],
  ['types of the dashboard', () => checkTypes('web')],
  ['format and lint', () => runTool('biome', 'ci', '--colors=off', '--max-diagnostics=50')],
  ['nothing unused', () => runTool('knip', '--no-progress')],
  ['regular expressions take linear time', () => runScript('scripts/regex/lint.ts')],
  ['endpoints are as listed', () => runScript('scripts/endpoints.ts', '--check')],
  ['errors and webhooks are as described', () => runScript('scripts/catalogues.ts', '--check')],
  ['settings are as described', () => runScript('scripts/settings.ts', '--check')],
  ['paths in README.md exist', checkReadme],
]

const { values } = parseArgs({ options: { all: { type: 'boolean' } } })
endCommandsWithProgram()
// It writes into the checkout, so it has it for itself.
await runStep(['migrations are up to date', () => checkMigrations(root, () => runScript('scripts/migrations.ts'))])
const checking = runInTurn(CHECKS)
await runStep(['dashboard and executable build', () => runScript('scripts/build.ts')])
// Tests that start a whole service start the executable.
process.env.STEAD_UNDER_TEST = join(root, 'dist/stead')
const [isOk] = await Promise.all([runTests({ root, isWhole: values.all ?? false }), checking])
process.exit(isOk ? 0 : 1)

async function runInTurn(steps: readonly Step[]): Promise<void> {
  for (const step of steps) await runStep(step)
}

/** Prints the line of a step, and ends the program when it failed. */
async function runStep([name, run]: Step): Promise<void> {
  const startedAt = performance.now()
  const { isOk, output } = await run()
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)
  console.log(`${isOk ? 'ok  ' : 'FAIL'} ${seconds} s  ${name}`)
  if (isOk) return
  console.log(`\n${output}\n0 passed, 1 failed`)
  await endProgram(1)
}

async function checkReadme(): Promise<Outcome> {
  const readme = join(root, 'README.md')
  if (!existsSync(readme)) return { isOk: true, output: '' }
  const missing = findMissingPaths(await Bun.file(readme).text(), root)
  return { isOk: missing.length === 0, output: `README.md names what does not exist: ${missing.join(', ')}\n` }
}

function checkTypes(project: string): Promise<Outcome> {
  return run(toToolCommand('tsc', ...IN_ONE_THREAD, '-p', project), SELDOM_COLLECTED)
}

function runTool(name: string, ...args: string[]): Promise<Outcome> {
  return run(toToolCommand(name, ...args))
}

/** Tools run under this Bun: a machine without Node.js has all that is needed. */
function toToolCommand(name: string, ...args: string[]): string[] {
  return [process.execPath, '--bun', 'run', name, ...args]
}

function runScript(path: string, ...args: string[]): Promise<Outcome> {
  return run([process.execPath, join(root, path), ...args])
}

async function run(command: string[], environment: Record<string, string> = {}): Promise<Outcome> {
  const limits = { cwd: root, limitMs: STEP_LIMIT_MS, environment }
  const { exitCode, output, reason } = await runCommand(command, limits)
  return { isOk: exitCode === 0, output: reason === undefined ? output : `${output}\nThe step ${reason}.` }
}
