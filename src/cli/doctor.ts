import type { Command } from 'commander'
import { addExample } from './example.ts'
import { addSettingFlags, readEnvironment } from './settings/environment.ts'

/** Adds `doctor`: one line for each thing that is looked at; exit code 1 when one of them is broken. */
export function doctorCommand(program: Command): void {
  addSettingFlags(addExample(program.command('doctor'), 'stead doctor --data-dir /srv/stead'))
    .description('checks settings, data folder, database and what the service needs')
    .option('--json', 'print one JSON document', false)
    .action(async ({ json, ...flags }: { json: boolean }) => {
      const { examine } = await import('./checks.ts')
      const checks = await examine(() => readEnvironment(flags))
      const isHealthy = checks.every(({ status }) => status !== 'error')
      const lines = checks.map(({ status, name, message }) => `${MARKS[status]} ${name}: ${message}`)
      process.stdout.write(json ? `${JSON.stringify({ ok: isHealthy, checks })}\n` : `${lines.join('\n')}\n`)
      process.exitCode = isHealthy ? 0 : 1
    })
}

const MARKS = { ok: '✓', warning: '!', error: '✗' } as const
