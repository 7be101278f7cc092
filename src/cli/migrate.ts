import type { Command } from 'commander'
import { addExample } from './example.ts'

/** Adds `migrate`: brings the database up to date without starting the service. */
export function migrateCommand(program: Command): void {
  addExample(program.command('migrate'), 'DATA_DIR=/srv/stead stead migrate --json')
    .description('brings the database up to date, after a backup')
    .option('--compact', 'write the file anew, smaller; only while the server is stopped', false)
    .option('--json', 'print one JSON document', false)
    .action(async ({ json, compact }: { json: boolean; compact: boolean }) => {
      const { compactStopped, withDatabase } = await import('./database.ts')
      const applied = await withDatabase(async (connection, config, names) => {
        if (compact) compactStopped(connection, config)
        return names
      })
      const text = applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`
      process.stdout.write(json ? `${JSON.stringify({ applied })}\n` : `${text}\n`)
    })
}
