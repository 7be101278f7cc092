import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { StartupError } from '../../core/errors.ts'
import { addExample } from '../example.ts'
import { readEnvironment } from '../settings/environment.ts'
import type { AccountCommands, Report } from './accounts.ts'

type Options = { json: boolean; plan?: string }
type Run = (accounts: AccountCommands, email: string, argument: string) => Promise<Report>

/** Commands that change one account: `name <email>`, with one more argument where the usage names it. */
const CHANGES: readonly [usage: string, example: string, description: string, run: Run][] = [
  [
    'set-plan <email> <plan>',
    'set-plan ada@example.com label',
    'gives an account a plan, as an active subscription',
    (accounts, email, plan) => accounts.setPlan(email, plan),
  ],
  [
    'set-credits <email> <credits>',
    'set-credits ada@example.com 100',
    'sets how many credits an account has',
    (accounts, email, credits) => accounts.setCredits(email, credits),
  ],
  [
    'set-admin <email> <on|off>',
    'set-admin ada@example.com on',
    'lets an account administer over the web, or no longer',
    (accounts, email, word) => accounts.setAdmin(email, word),
  ],
  [
    'disable <email>',
    'disable ada@example.com',
    'closes an account and ends all its sessions',
    (accounts, email) => accounts.disable(email),
  ],
  [
    'enable <email>',
    'enable ada@example.com',
    'opens an account that was disabled',
    (accounts, email) => accounts.enable(email),
  ],
  [
    'verify <email>',
    'verify ada@example.com',
    'takes the address of an account as proved',
    (accounts, email) => accounts.verify(email),
  ],
  [
    'end-sessions <email>',
    'end-sessions ada@example.com --json',
    'signs an account out everywhere',
    (accounts, email) => accounts.endSessions(email),
  ],
  [
    'remove-2fa <email>',
    'remove-2fa ada@example.com',
    'turns two-factor sign-in off, for somebody who lost every code',
    (accounts, email) => accounts.removeTwoFactor(email),
  ],
]

/** Adds `user`: manages accounts of the configured database, whether or not the server runs. */
export function userCommand(program: Command): void {
  const user = program.command('user').description('manages accounts').helpCommand(false)
  addExample(user, 'stead user list')
  withJson(user.command('create <email>'), 'create ada@example.com --plan solo --password-stdin < password.txt')
    .description('creates an account; the password is read from standard input')
    .requiredOption('--password-stdin', 'read the password from standard input')
    .option('--plan <plan>', 'start with this plan in place of DEFAULT_PLAN, as an active subscription')
    .action((email: string, options: Options) =>
      print(options, async (accounts) => accounts.create(email, await readLine(), options.plan)),
    )
  withJson(user.command('reset-password <email>'), 'reset-password ada@example.com --password-stdin < password.txt')
    .description('sets a new password, read from standard input, and ends all sessions')
    .requiredOption('--password-stdin', 'read the password from standard input')
    .action((email: string, options: Options) =>
      print(options, async (accounts) => accounts.resetPassword(email, await readLine())),
    )
  withJson(user.command('setup-link'), 'setup-link')
    .description('prints a new link by which the first account is made, and ends the one before')
    .action(async (options: Options) => {
      await requireInstallation()
      return print(options, (accounts) => accounts.makeSetupLink())
    })
  for (const change of CHANGES) addChange(user, change)
  withJson(user.command('list'), 'list --json')
    .description('lists the accounts')
    .action((options: Options) => print(options, (accounts) => accounts.list()))
  withJson(user.command('plans'), 'plans --json')
    .description('lists the plans that accounts can have, with their limits')
    .action((options: Options) => print(options, (accounts) => accounts.listPlans()))
}

function addChange(user: Command, [usage, example, description, run]: (typeof CHANGES)[number]): void {
  const command = withJson(user.command(usage), example).description(description)
  command.action(() => {
    const [email = '', argument = ''] = command.processedArgs.map(String)
    return print({ json: command.opts().json === true }, (accounts) => run(accounts, email, argument))
  })
}

function withJson(command: Command, example: string): Command {
  return addExample(command, `stead user ${example}`).option('--json', 'print one JSON document', false)
}

/** Opens the accounts and prints the output of the command. @throws AppError with the reason of a refusal. */
async function print({ json }: Options, command: (accounts: AccountCommands) => Promise<Report>): Promise<void> {
  const { withAccounts } = await import('./accounts.ts')
  const report = await withAccounts(command)
  process.stdout.write(`${json ? JSON.stringify(report.json) : report.text}\n`)
}

/**
 * Checks that a database exists.
 * @throws StartupError without one: the printed link would lead to a server that does not know it.
 */
async function requireInstallation(): Promise<void> {
  const { readConfig } = await import('../../core/config.ts')
  const { databaseFile, dataDir } = readConfig(readEnvironment())
  if (existsSync(databaseFile)) return
  const command = 'sudo DATA_DIR=/var/lib/stead stead user setup-link'
  throw new StartupError(
    `DATA_DIR: no Stead has started on ${dataDir}: name the folder of the service, as in ${command}`,
  )
}

async function readLine(): Promise<string> {
  return (await Bun.stdin.text()).replace(/\r?\n$/, '')
}
