import { Command } from 'commander'
import { findNearName } from '../core/text/names.ts'
import { userCommand } from './accounts/user.ts'
import { ledgerCommand, walletCommand } from './accounts/wallet.ts'
import { adoptCommand } from './adopt.ts'
import { agentCommand } from './agent.ts'
import { backupCommand } from './backups/backup.ts'
import { completionCommand } from './completion/completion.ts'
import { configCommand } from './config.ts'
import { diagnosticsCommand } from './diagnostics/diagnostics.ts'
import { doctorCommand } from './doctor.ts'
import { agentImageCommand } from './machines/agent-image.ts'
import { homeCommand } from './machines/home.ts'
import { linkCommand } from './machines/link.ts'
import { migrateCommand } from './migrate.ts'
import { openapiCommand } from './openapi.ts'
import { agentsCommand } from './remote/agents.ts'
import { clusterCommand } from './remote/cluster.ts'
import { fleetCommands } from './remote/fleet/command.ts'
import { keysCommand } from './remote/keys.ts'
import { rotateKeyCommand } from './rotate-key.ts'
import { serveCommand } from './serve.ts'
import { serviceCommand } from './service/service.ts'
import { upgradeCommand } from './upgrade/upgrade.ts'
import { toVersionText, versionCommand } from './version.ts'

/** Options of `stead` itself; any other option without a command belongs to `serve`. */
const OWN_OPTIONS = ['-h', '--help', '-V', '--version']

/** Creates the program with every command. Parsing throws instead of exiting: `endWith` selects the exit code. */
export function createProgram(): Command {
  const program = new Command('stead')
    .description('Creates, runs and bills AI agents, each behind its own gateway.')
    .version(toVersionText(), '-V, --version', 'prints the version')
    .helpOption('-h, --help', 'explains a command')
    .helpCommand('help [command]', 'explains a command')
    .configureOutput({ outputError: (text, print) => print(toOneLine(text)) })
    .exitOverride()
    .addHelpText(
      'after',
      `
Examples:
  stead                           starts the service; the same as stead serve
  stead user --help               explains a command
  stead doctor                    tells what is missing before the first start

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 gone back by itself, 75 try again later (port taken, database locked),
78 a setting or the data folder is bad.`,
    )
  serveCommand(program)
  agentCommand(program)
  agentImageCommand(program)
  homeCommand(program)
  linkCommand(program)
  agentsCommand(program)
  fleetCommands(program)
  keysCommand(program)
  userCommand(program)
  walletCommand(program)
  ledgerCommand(program)
  migrateCommand(program)
  doctorCommand(program)
  diagnosticsCommand(program)
  backupCommand(program)
  clusterCommand(program)
  serviceCommand(program)
  upgradeCommand(program)
  adoptCommand(program)
  rotateKeyCommand(program)
  configCommand(program)
  openapiCommand(program)
  versionCommand(program)
  completionCommand(program)
  return program
}

/**
 * Returns the arguments for commander, with `serve` as the default command.
 * @throws CommanderError for an unknown command, also with `--help`.
 */
export function toArguments(program: Command, args: readonly string[]): string[] {
  const [first] = args
  const isServe = first === undefined || (first.startsWith('-') && !OWN_OPTIONS.includes(first))
  if (isServe) return ['serve', ...args]
  requireKnownCommand(program, first === 'help' ? args.slice(1) : args)
  return [...args]
}

function requireKnownCommand(command: Command, [name, ...rest]: readonly string[]): void {
  if (name === undefined || name.startsWith('-') || command.commands.length === 0) return
  const next = command.commands.find((known) => known.name() === name)
  if (next) {
    requireKnownCommand(next, rest)
    return
  }
  const near = findNearName(
    name,
    command.commands.map((known) => known.name()),
  )
  const meant = near ? `: is ${near} meant?` : ''
  command.error(`unknown command '${name}'${meant} (${toPath(command)} --help lists them)`)
}

function toPath(command: Command): string {
  return command.parent ? `${toPath(command.parent)} ${command.name()}` : command.name()
}

/** Commander prints its suggestion on a second line. */
function toOneLine(text: string): string {
  const lines = text
    .replace(/^error: /, '')
    .split('\n')
    .map((line) => line.trim())
  return `stead: ${lines.filter(Boolean).join(' ')}\n`
}
