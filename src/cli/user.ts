import { Command } from 'commander'
import { AppError } from '../core/errors.ts'
import type { AccountCommands, Report } from './accounts.ts'

type Options = { json: boolean; plan?: string }
type Run = (accounts: AccountCommands, email: string, argument: string) => Promise<Report>

/** What changes one account: `name <email>`, with one more argument where the usage names it. */
const CHANGES: readonly [usage: string, description: string, run: Run][] = [
  [
    'set-plan <email> <plan>',
    'gives an account a plan, as an active subscription',
    (accounts, email, plan) => accounts.setPlan(email, plan),
  ],
  [
    'set-credits <email> <credits>',
    'sets how many credits an account has',
    (accounts, email, credits) => accounts.setCredits(email, credits),
  ],
  ['disable <email>', 'closes an account and ends all its sessions', (accounts, email) => accounts.disable(email)],
  ['enable <email>', 'opens an account that was disabled', (accounts, email) => accounts.enable(email)],
  ['verify <email>', 'takes the address of an account as proved', (accounts, email) => accounts.verify(email)],
  ['end-sessions <email>', 'signs an account out everywhere', (accounts, email) => accounts.endSessions(email)],
  [
    'remove-2fa <email>',
    'turns two-factor sign-in off, for somebody who lost every code',
    (accounts, email) => accounts.removeTwoFactor(email),
  ],
]

/** Adds `user`: accounts of the configured database, while the service runs or not. */
export function userCommand(program: Command): void {
  const user = new Command('user').description('manages accounts')
  withJson(user.command('create <email>'))
    .description('creates an account; the password is read from standard input')
    .requiredOption('--password-stdin', 'read the password from standard input')
    .option('--plan <plan>', 'start with this plan, as an active subscription')
    .action((email: string, options: Options) =>
      print(options, async (accounts) => accounts.create(email, await readLine(), options.plan)),
    )
  withJson(user.command('reset-password <email>'))
    .description('sets a new password, read from standard input, and ends all sessions')
    .requiredOption('--password-stdin', 'read the password from standard input')
    .action((email: string, options: Options) =>
      print(options, async (accounts) => accounts.resetPassword(email, await readLine())),
    )
  for (const [usage, description, run] of CHANGES) addChange(user, usage, description, run)
  withJson(user.command('list'))
    .description('lists the accounts')
    .action((options: Options) => print(options, (accounts) => accounts.list()))
  program.addCommand(user)
}

function addChange(user: Command, usage: string, description: string, run: Run): void {
  const command = withJson(user.command(usage)).description(description)
  command.action(() => {
    const [email = '', argument = ''] = command.processedArgs.map(String)
    return print({ json: command.opts().json === true }, (accounts) => run(accounts, email, argument))
  })
}

function withJson(command: Command): Command {
  return command.option('--json', 'print one JSON document', false)
}

/** Opens the accounts, prints what the command says, and turns refusals into one line and exit code 1. */
async function print({ json }: Options, command: (accounts: AccountCommands) => Promise<Report>): Promise<void> {
  const { withAccounts } = await import('./accounts.ts')
  try {
    const report = await withAccounts(command)
    process.stdout.write(`${json ? JSON.stringify(report.json) : report.text}\n`)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    process.stderr.write(`stead: ${error.message}\n`)
    process.exitCode = 1
  }
}

async function readLine(): Promise<string> {
  return (await Bun.stdin.text()).replace(/\r?\n$/, '')
}
