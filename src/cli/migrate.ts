import type { Command } from 'commander'
import { addExample } from './example.ts'

/** Adds `migrate`: migrates the database without starting the server. */
export function migrateCommand(program: Command): void {
  const migrate = addExample(program.command('migrate'), 'DATA_DIR=/srv/stead stead migrate --json').helpCommand(false)
  statusCommand(migrate)
  migrate
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

/** Adds `migrate status`: lists pending migrations without changing anything. */
function statusCommand(migrate: Command): void {
  addExample(
    migrate.command('status'),
    'DATA_DIR=/srv/stead stead migrate status',
    'Exit codes: 0 done, 78 a newer version wrote the database.',
  )
    .description('lists the migrations that the next start applies, and changes nothing')
    .option('--json', 'print one JSON document', false)
    .action(async (_options: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<{ json: boolean }>()
      const { readConfig } = await import('../core/config.ts')
      const { readEnvironment } = await import('./settings/environment.ts')
      const { readMigrationStatus } = await import('./database.ts')
      const { databaseFile } = readConfig(readEnvironment())
      const status = readMigrationStatus(databaseFile)
      const text =
        status === null
          ? `There is no database ${databaseFile} yet: the first start creates it.`
          : status.pending.length === 0
            ? `Up to date: ${status.applied} migrations are applied.`
            : `${status.applied} migrations are applied, the next start applies: ${status.pending.join(', ')}`
      process.stdout.write(json ? `${JSON.stringify(status ?? { applied: 0, pending: [] })}\n` : `${text}\n`)
    })
}
