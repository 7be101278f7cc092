import type { Command } from 'commander'
import { addExample } from '../example.ts'

/** Adds `ledger`: checks the ledger of the configured database, whether or not the server runs. */
export function ledgerCommand(program: Command): void {
  const ledger = program.command('ledger').description('looks after the books').helpCommand(false)
  addExample(ledger, 'stead ledger check')
  addExample(ledger.command('check'), 'stead ledger check --json', 'Exit code 1 when something in the books is wrong.')
    .description('adds the books up again from their entries')
    .option('--json', 'print one JSON document', false)
    .action(async ({ json }: { json: boolean }) => {
      const { withDatabase } = await import('../database.ts')
      const { checkLedger } = await import('../../features/payments/ledger/check.ts')
      const report = await withDatabase(async ({ db }) => checkLedger(db))
      const summary = `${report.entries} entries, ${report.lines} lines, ${report.accounts} accounts`
      const text = [...report.faults, report.faults.length === 0 ? `The books are right: ${summary}.` : summary]
      process.stdout.write(json ? `${JSON.stringify(report)}\n` : `${text.join('\n')}\n`)
      process.exitCode = report.faults.length === 0 ? 0 : 1
    })
}
