import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { readConfig } from '../../core/config.ts'
import { AppError, StartupError } from '../../core/errors.ts'
import { requireWritableFolder } from '../../core/files/ownership.ts'
import { toPrettyLine } from '../../core/log/output.ts'
import { quoteForShell } from '../../core/text/lines.ts'
import { addExample } from '../example.ts'
import { UsageError } from '../exit.ts'
import { readSettingsFile } from '../settings/file.ts'
import { findManager, type Manager, run } from './manager.ts'
import type { InstalledService, ServicePlan } from './unit.ts'
import {
  describeUncovered,
  findUnwritable,
  listUncovered,
  listWritePaths,
  toFolders,
  type WritePath,
} from './write-paths.ts'

type Scope = { user: boolean }
type LogsOptions = Scope & { follow: boolean; lines: string; format?: string }
type InstallOptions = Scope & { dataDir?: string; docker?: boolean; print: boolean }

const ACCOUNT = 'stead'
const SYSTEM_DATA_DIR = '/var/lib/stead'
const LAST_LINES = 200
const TEMPORARY = /^\/(?:var\/)?tmp(?:\/|$)/

/** Adds `service`: installs Stead as a service of the machine or of one user. */
export function serviceCommand(program: Command): void {
  const service = program
    .command('service')
    .description('keeps Stead running, by systemd or launchd')
    .helpCommand(false)
  addExample(service, 'stead service install')
  installCommand(service)
  withScope(service.command('status'), 'stead service status')
    .description('shows whether it runs, in the words of the service manager')
    .option('--json', 'print one JSON document in place of these words', false)
    .action(({ user, json }: Scope & { json: boolean }) => {
      const manager = requireInstalled(user)
      const isActive = json ? manager.isActive() : manager.status() === 0
      if (json) process.stdout.write(`${JSON.stringify({ active: isActive, definition: manager.file })}\n`)
      process.exitCode = isActive ? 0 : 1
    })
  withScope(
    service.command('logs'),
    `stead service logs --follow
stead service logs --format json | jq .msg`,
  )
    .description('prints its log')
    .option('--format <format>', 'pretty or json; without it pretty on a terminal, else json')
    .option('-f, --follow', 'go on until it is ended', false)
    .option('-n, --lines <count>', 'so many of the last lines', String(LAST_LINES))
    .action(async ({ user, follow, lines, format }: LogsOptions) => {
      if (!/^\d{1,9}$/.test(lines)) throw new UsageError('service logs: --lines takes a whole number')
      const isPretty = format === undefined ? process.stdout.isTTY : format === 'pretty'
      if (!isPretty && format !== undefined && format !== 'json')
        throw new UsageError('service logs: --format is pretty or json')
      const command = requireInstalled(user).toLogsCommand({ follow, lines: Number(lines) })
      process.exitCode = (await printLogs(command, isPretty)) === 0 ? 0 : 1
    })
  withScope(service.command('reload'), 'stead service reload')
    .description('lets it read its settings again and open its log anew; nothing is interrupted')
    .action(({ user }: Scope) => {
      const manager = requireInstalled(user)
      const problems = listUnitProblems(manager, user)
      manager.reload()
      const warnings = problems.map((problem) => `! ${problem}\n`).join('')
      process.stdout.write(`It reads its settings again: the log says what counts now.\n${warnings}`)
    })
  withScope(service.command('uninstall'), 'stead service uninstall')
    .description('stops it with its agents, and removes it; what it has stored stays')
    .action(({ user }: Scope) => {
      const manager = findManager(user)
      if (!manager.isInstalled()) {
        process.stdout.write('No service is installed.\n')
        return
      }
      manager.uninstall()
      process.stdout.write(`Removed ${manager.file}. The data folder is as it was.\n`)
    })
}

/** Prints the output lines of a command, formatted for people if requested. @returns its exit code. */
async function printLogs(command: string[], isPretty: boolean): Promise<number> {
  if (!isPretty) return Bun.spawnSync(command, { stdin: 'ignore', stdout: 'inherit', stderr: 'inherit' }).exitCode
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
  const hasColors = process.stdout.isTTY && process.stdout.hasColors()
  for await (const line of createInterface({ input: Readable.from(child.stdout) }))
    process.stdout.write(toPrettyLine(`${line}\n`, { hasColors }))
  return child.exited
}

function installCommand(service: Command): void {
  withScope(
    service.command('install'),
    `stead service install
stead service install --user --data-dir ~/stead`,
    `The service of a machine runs as the user ${ACCOUNT}, which is made, on ${SYSTEM_DATA_DIR}; that of a user on
~/.local/share/stead. Settings are read from stead.env there, which is made once, for home use, and yours from then on.
Folders outside of it that settings name (BACKUP_TO, LOG_FILE, DATABASE_URL, BROWSE_ROOT) become writable for the
service: install again after changing one of them. Installing again keeps the folder and --docker, replaces the
definition and restarts the service; agents go on meanwhile.`,
  )
    .description('installs the service and starts it')
    .option('--data-dir <folder>', 'where it keeps everything')
    .option('--docker', 'let it use the Docker engine of this machine, which is as good as being root')
    .option('--no-docker', 'take that from an installed service')
    .option('--print', 'print the definition, and change nothing', false)
    .action(async (options: InstallOptions) => {
      const manager = findManager(options.user)
      const base = toPlan(options, manager.findInstalled())
      if (options.print) {
        process.stdout.write(manager.describe({ ...base, writePaths: toFolders(listServicePaths(base.dataDir)) }))
        return
      }
      requireLastingPlaces(base)
      if (!options.user) requireRoot()
      prepareFolder(base)
      // Reports an invalid setting before anything is replaced.
      const paths = listServicePaths(base.dataDir)
      for (const path of paths) prepareWritePath(path, base.user)
      const plan = { ...base, writePaths: toFolders(paths) }
      manager.install(plan)
      process.stdout.write(describeInstalled(manager.file, plan, options.user))
    })
}

function withScope(command: Command, example: string, notes?: string): Command {
  return addExample(command, example, notes).option('--user', 'of the present user, not of the machine', false)
}

function requireInstalled(isOfUser: boolean) {
  const manager = findManager(isOfUser)
  if (manager.isInstalled()) return manager
  throw new AppError('not_found', `service: none is installed (stead service install${isOfUser ? ' --user' : ''})`)
}

/** Omitted options keep the values of the installed definition. */
function toPlan({ user, dataDir, docker }: InstallOptions, installed: InstalledService | null): ServicePlan {
  const data = process.env.XDG_DATA_HOME || join(homedir(), '.local/share')
  const usesDocker = docker ?? installed?.groups.includes('docker') ?? false
  return {
    command: Bun.isStandaloneExecutable
      ? [process.execPath]
      : [process.execPath, resolve(import.meta.dir, '..', '..', 'main.ts')],
    dataDir: resolve(dataDir ?? installed?.dataDir ?? (user ? join(data, 'stead') : SYSTEM_DATA_DIR)),
    user: user ? null : ACCOUNT,
    groups: usesDocker && !user ? ['docker'] : [],
    writePaths: [],
  }
}

/** Reads the settings as the service will: from the file, not from this command's environment. @throws StartupError */
function listServicePaths(dataDir: string): WritePath[] {
  return listWritePaths(readConfig({ ...readSettingsFile(join(dataDir, 'stead.env')), DATA_DIR: dataDir }))
}

/** Returns one sentence for each setting whose folder the installed definition keeps read-only. */
function listUnitProblems(manager: Manager, isOfUser: boolean): string[] {
  const installed = manager.findInstalled()
  if (installed === null || installed.writePaths === null) return []
  return listUncovered(listServicePaths(installed.dataDir), installed.writePaths).map(({ setting, folder }) =>
    describeUncovered({ setting, folder }, isOfUser),
  )
}

/** Creates the folder for the service user. @throws StartupError when that user could not write there. */
function prepareWritePath(path: WritePath, user: string | null): void {
  const { setting, folder } = path
  if (user !== null && TEMPORARY.test(folder))
    throw new StartupError(`${setting}: ${folder} is in a temporary folder, and the service has one of its own`)
  if (!existsSync(folder)) {
    requireWritableFolder(setting, folder)
    const owner = user === null ? null : findAccount(user)
    if (owner) chownSync(folder, owner.uid, owner.gid)
  }
  const problem = findUnwritable(path, user)
  if (problem !== null) throw new StartupError(problem)
}

/** The service has private temporary folders that systemd empties. */
function requireLastingPlaces({ command, dataDir }: ServicePlan): void {
  const passing = [...command, dataDir].find((path) => TEMPORARY.test(path))
  if (passing !== undefined)
    throw new UsageError(`service: ${passing} is in a temporary folder: move it first, to /usr/local/bin for example`)
}

function requireRoot(): void {
  if (process.getuid?.() !== 0)
    throw new AppError('forbidden', 'service: run it as root (sudo stead service install), or with --user')
}

/** Creates the user, the data folder and the settings file if missing. */
function prepareFolder({ dataDir, user }: ServicePlan): void {
  const owner = user === null ? null : findOrCreateAccount(user, dataDir)
  const isNew = !existsSync(dataDir)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const settings = join(dataDir, 'stead.env')
  const isEmpty = readdirSync(dataDir).length === 0
  if (isEmpty) writeFileSync(settings, FIRST_SETTINGS, { mode: 0o600 })
  if (owner === null || !(isNew || isEmpty)) return
  chownSync(dataDir, owner.uid, owner.gid)
  if (isEmpty) chownSync(settings, owner.uid, owner.gid)
}

const FIRST_SETTINGS = `# Settings of this service: stead config schema lists them all. After a change: stead service reload,
# whose log names those that count from the next start on.
DEPLOYMENT_MODE=home
NODE_ENV=production
`

function findOrCreateAccount(name: string, home: string): { uid: number; gid: number } {
  if (process.platform === 'linux' && !findAccount(name)) {
    if (Bun.which('useradd'))
      run(['useradd', '--system', '--user-group', '--home-dir', home, '--shell', '/usr/sbin/nologin', name])
    else run(['adduser', '-S', '-D', '-H', '-h', home, '-s', '/sbin/nologin', name])
  }
  const account = findAccount(name)
  if (!account) throw new AppError('unavailable', `service: make the user ${name} first, or use --user`)
  return account
}

function findAccount(name: string): { uid: number; gid: number } | null {
  const ask = (option: string) => {
    const { success, stdout } = Bun.spawnSync(['id', option, name], { stderr: 'ignore' })
    return success ? Number(stdout.toString().trim()) : null
  }
  const [uid, gid] = [ask('-u'), ask('-g')]
  return uid === null || gid === null ? null : { uid, gid }
}

function describeInstalled(file: string, { dataDir, writePaths }: ServicePlan, isOfUser: boolean): string {
  const flag = isOfUser ? ' --user' : ''
  const lingering =
    isOfUser && process.platform === 'linux' ? 'loginctl enable-linger keeps it while you are signed out.\n' : ''
  return `Stead runs, and starts with ${isOfUser ? 'your session' : 'this machine'}: ${file}
Data and settings   ${dataDir}, ${join(dataDir, 'stead.env')}
${writePaths.length > 0 ? `Also writes         ${writePaths.join(', ')}\n` : ''}Log                 ${isOfUser ? '' : 'sudo '}stead service logs${flag}
First account       ${isOfUser ? '' : 'sudo '}DATA_DIR=${quoteForShell(dataDir)} stead user setup-link
${lingering}`
}
