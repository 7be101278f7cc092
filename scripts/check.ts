/** `bun run check`: what CI runs. The steps below one after another until one fails, then all tests. */
import { join } from 'node:path'
import { runTests } from './test-runner/run.ts'

const root = join(import.meta.dir, '..')
const STEP_LIMIT_MS = 30 * 60_000

/** The typed client and the executable are what later steps and tests use. */
const STEPS: readonly (readonly [name: string, command: readonly string[]])[] = [
  ['migrations are up to date', script('scripts/migrations.ts', '--check')],
  ['typed client of the dashboard', script('scripts/client/main.ts')],
  ['dashboard and executable build', script('scripts/build.ts')],
  ['types', tool('tsc', '--noEmit', '-p', '.')],
  ['types of the dashboard', tool('tsc', '--noEmit', '-p', 'web')],
  ['format and lint', tool('biome', 'ci', '--colors=off', '--max-diagnostics=50')],
  ['no unused files, exports or packages', tool('knip', '--no-progress')],
  ['plain English', script('scripts/language/lint.ts')],
  ['regular expressions take linear time', script('scripts/regex/lint.ts')],
  ['tests/endpoints.txt and web/docs/http-api.md are up to date', script('scripts/endpoints.ts', '--check')],
  ['catalogues of errors and webhooks are up to date', script('scripts/catalogues.ts', '--check')],
  ['web/docs/configuration.md and .env.example are up to date', script('scripts/settings.ts', '--check')],
]

for (const [name, command] of STEPS) await runStep(name, command)
// Tests that start a whole service start the executable.
process.env.STEAD_UNDER_TEST = join(root, 'dist/stead')
process.exit((await runTests({ root })) ? 0 : 1)

function script(path: string, ...args: string[]): string[] {
  return [process.execPath, path, ...args]
}

/** Runs a package's command under this Bun, so a machine needs no Node.js. */
function tool(name: string, ...args: string[]): string[] {
  return [process.execPath, '--bun', 'run', name, ...args]
}

async function runStep(name: string, command: readonly string[]): Promise<void> {
  const startedAt = performance.now()
  const child = Bun.spawn([...command], {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: STEP_LIMIT_MS,
  })
  const [exitCode, output, errors] = await Promise.all([child.exited, child.stdout.text(), child.stderr.text()])
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)
  console.log(`${exitCode === 0 ? 'ok  ' : 'FAIL'} ${seconds} s  ${name}`)
  if (exitCode === 0) return
  console.log(`\n${output}${errors}`)
  process.exit(1)
}
