import type { Command } from 'commander'
import { errorMessage } from '../core/errors.ts'
import type { Check } from './check.ts'
import { addExample } from './example.ts'
import { addSettingFlags, readEnvironment } from './settings/environment.ts'

/** Outcome of fixing a check; `error` says why the fix failed. */
type Mended = { command: string; error: string | null }

/** Adds `doctor`: prints one line per check; exit code 1 when one fails. */
export function doctorCommand(program: Command): void {
  addSettingFlags(
    addExample(
      program.command('doctor'),
      `stead doctor --data-dir /srv/stead
stead doctor --fix`,
      `--fix takes from others the rights to the data folder and to the files that hold everything, and makes folders that
settings name; nothing else can be mended without a decision of yours, and each line says which.
With an installed service it tests what that service's user may write, which takes root.

Exit codes: 0 nothing is broken (any more), 1 something is.`,
    ),
  )
    .description('checks settings, data folder, database and what the service needs')
    .option('--fix', 'mend what can be mended without any harm, then look again', false)
    .option('--json', 'print one JSON document', false)
    .action(async ({ json, fix, ...flags }: { json: boolean; fix: boolean }) => {
      const { examine } = await import('./checks.ts')
      const look = () => examine(() => readEnvironment(flags))
      const found = await look()
      const mended = fix ? found.flatMap(mend) : []
      const checks = mended.length > 0 ? await look() : found
      const isHealthy = checks.every(({ status }) => status !== 'error')
      process.stdout.write(json ? toJson(checks, fix ? mended : null) : toText(checks, mended))
      process.exitCode = isHealthy ? 0 : 1
    })
}

function mend({ fix }: Check): Mended[] {
  if (!fix) return []
  try {
    fix.run()
    return [{ command: fix.command, error: null }]
  } catch (error) {
    return [{ command: fix.command, error: errorMessage(error) }]
  }
}

function toJson(checks: readonly Check[], mended: readonly Mended[] | null): string {
  const ok = checks.every(({ status }) => status !== 'error')
  const shown = checks.map(({ name, status, message }) => ({ name, status, message }))
  return `${JSON.stringify({ ok, checks: shown, ...(mended && { mended }) })}\n`
}

const MARKS = { ok: '✓', warning: '!', error: '✗' } as const

function toText(checks: readonly Check[], mended: readonly Mended[]): string {
  const done = mended.map(({ command, error }) =>
    error === null ? `mended: ${command}` : `not mended: ${command}: ${error}`,
  )
  const lines = checks.map(({ status, name, message }) => `${MARKS[status]} ${name}: ${message}`)
  return `${[...done, ...lines].join('\n')}\n`
}
