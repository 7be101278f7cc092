import type { Command } from 'commander'
import { addExample } from './example.ts'

/** Adds `migrate`: brings the database up to date without starting the service. */
export function migrateCommand(program: Command): void {
  addExample(program.command('migrate'), 'DATA_DIR=/srv/stead stead migrate --json')
    .description('brings the database up to date, after a backup')
    .option('--json', 'print one JSON document', false)
    .action(async ({ json }: { json: boolean }) => {
      const { withDatabase } = await import('./database.ts')
      const applied = await withDatabase(async (_connection, _config, names) => names)
      const text = applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`
      process.stdout.write(json ? `${JSON.stringify({ applied })}\n` : `${text}\n`)
    })
}
