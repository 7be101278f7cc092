import type { Command } from 'commander'
import { addExample } from '../example.ts'
import { UsageError } from '../exit.ts'

const WARNING = `Whoever has this key has the money, for ever, and nobody can take it back. No limit of the wallet holds for it.
Stead keeps its copy: take the money to an address of your own, or freeze the wallet.
`

/** Adds `wallet`: exports keys of managed wallets, which no HTTP endpoint returns. */
export function walletCommand(program: Command): void {
  const wallet = program.command('wallet').description('looks after the wallets kept here').helpCommand(false)
  addExample(wallet, 'stead wallet export 0x… --yes')
  addExample(
    wallet.command('export <address>'),
    'stead wallet export 0x0123456789abcdef0123456789abcdef01234567 --yes > wallet.key',
    'The warning goes to standard error, the key alone to standard output. The audit log tells that it was exported.',
  )
    .description('prints the private key of a wallet, after a warning')
    .option('--yes', 'the warning is understood', false)
    .option('--json', 'print one JSON document', false)
    .action(async (address: string, { yes, json }: { yes: boolean; json: boolean }) => {
      process.stderr.write(WARNING)
      if (!yes) throw new UsageError('wallet export: say --yes when the warning is understood')
      const { withDatabase } = await import('../database.ts')
      const { findKey } = await import('../../server/keys/encryption-key.ts')
      const { createSealer } = await import('../../core/secrets.ts')
      const { systemClock } = await import('../../core/clock.ts')
      const { StartupError } = await import('../../core/errors.ts')
      const { exportKey } = await import('../../features/payments/wallets/create.ts')
      const privateKey = await withDatabase(async ({ db }, config) => {
        const { key, problem } = findKey(config)
        if (key === null || problem) throw new StartupError(`ENCRYPTION_KEY: ${problem ?? 'there is none yet'}`)
        return exportKey({ db, clock: systemClock, sealer: createSealer(key) }, address)
      })
      process.stdout.write(json ? `${JSON.stringify({ address, privateKey })}\n` : `${privateKey}\n`)
    })
}

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
