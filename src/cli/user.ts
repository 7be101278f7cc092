import { Command } from 'commander'
import { AppError } from '../core/errors.ts'

/** Adds `user`: accounts of the configured database, while the service runs or not. */
export function userCommand(program: Command): void {
  const user = new Command('user').description('manages accounts')
  user
    .command('create <email>')
    .description('creates an account; the password is read from standard input')
    .requiredOption('--password-stdin', 'read the password from standard input')
    .option('--plan <plan>', 'start with this plan, as an active subscription')
    .action((email: string, { plan }: { plan?: string }) =>
      run(async (accounts) => accounts.create(email, await readLine(), plan)),
    )
  user
    .command('set-plan <email> <plan>')
    .description('gives an account a plan, as an active subscription')
    .action((email: string, plan: string) => run((accounts) => accounts.setPlan(email, plan)))
  user
    .command('reset-password <email>')
    .description('sets a new password, read from standard input, and ends all sessions')
    .requiredOption('--password-stdin', 'read the password from standard input')
    .action((email: string) => run(async (accounts) => accounts.resetPassword(email, await readLine())))
  user
    .command('list')
    .description('lists the accounts')
    .option('--json', 'print one JSON document', false)
    .action(({ json }: { json: boolean }) => run((accounts) => accounts.list({ json })))
  program.addCommand(user)
}

/** Opens the accounts, prints what the command says, and turns refusals into one line and exit code 1. */
async function run(command: (accounts: import('./accounts.ts').AccountCommands) => Promise<string>): Promise<void> {
  const { withAccounts } = await import('./accounts.ts')
  try {
    process.stdout.write(`${await withAccounts(command)}\n`)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    process.stderr.write(`stead: ${error.message}\n`)
    process.exitCode = 1
  }
}

async function readLine(): Promise<string> {
  return (await Bun.stdin.text()).replace(/\r?\n$/, '')
}
