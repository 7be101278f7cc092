import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { readConfig } from '../../core/config.ts'
import { AppError } from '../../core/errors.ts'
import { addExample } from '../example.ts'
import { UsageError } from '../exit.ts'
import { readEnvironment } from '../settings/environment.ts'
import { findManager, run } from './manager.ts'
import type { ServicePlan } from './unit.ts'

type Scope = { user: boolean }
type InstallOptions = Scope & { dataDir?: string; docker: boolean; print: boolean }

const ACCOUNT = 'stead'
const SYSTEM_DATA_DIR = '/var/lib/stead'
const LAST_LINES = 200

/** Adds `service`: Stead as a service of this machine, or of one user. */
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
  withScope(service.command('logs'), 'stead service logs --follow')
    .description('prints its log')
    .option('-f, --follow', 'go on until it is ended', false)
    .option('-n, --lines <count>', 'so many of the last lines', String(LAST_LINES))
    .action(({ user, follow, lines }: Scope & { follow: boolean; lines: string }) => {
      if (!/^\d{1,9}$/.test(lines)) throw new UsageError('service logs: --lines takes a whole number')
      process.exitCode = requireInstalled(user).logs({ follow, lines: Number(lines) }) === 0 ? 0 : 1
    })
  withScope(service.command('reload'), 'stead service reload')
    .description('lets it read its settings again and open its log anew; nothing is interrupted')
    .action(({ user }: Scope) => {
      requireInstalled(user).reload()
      process.stdout.write('It reads its settings again: the log says what counts now.\n')
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

function installCommand(service: Command): void {
  withScope(
    service.command('install'),
    `stead service install
stead service install --user --data-dir ~/stead`,
    `The service of a machine runs as the user ${ACCOUNT}, which is made, on ${SYSTEM_DATA_DIR}; that of a user on
~/.local/share/stead. Settings are read from stead.env there, which is made once, for home use, and yours from then on.
Installing again replaces the definition and restarts the service; agents go on meanwhile.`,
  )
    .description('installs the service and starts it')
    .option('--data-dir <folder>', 'where it keeps everything')
    .option('--docker', 'let it use the Docker engine of this machine, which is as good as being root', false)
    .option('--print', 'print the definition, and change nothing', false)
    .action(async (options: InstallOptions) => {
      const plan = toPlan(options)
      const manager = findManager(options.user)
      if (options.print) {
        process.stdout.write(manager.describe(plan))
        return
      }
      requireLastingPlaces(plan)
      if (!options.user) requireRoot()
      prepareFolder(plan)
      // What would stop the service is said here, before anything is replaced.
      readConfig(readEnvironment({ dataDir: plan.dataDir }))
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

function toPlan({ user, dataDir, docker }: InstallOptions): ServicePlan {
  const data = process.env.XDG_DATA_HOME || join(homedir(), '.local/share')
  return {
    command: Bun.isStandaloneExecutable
      ? [process.execPath]
      : [process.execPath, resolve(import.meta.dir, '..', '..', 'main.ts')],
    dataDir: resolve(dataDir ?? (user ? join(data, 'stead') : SYSTEM_DATA_DIR)),
    user: user ? null : ACCOUNT,
    groups: docker && !user ? ['docker'] : [],
  }
}

/** The service has temporary folders of its own, and they are emptied. */
function requireLastingPlaces({ command, dataDir }: ServicePlan): void {
  const passing = [...command, dataDir].find((path) => /^\/(?:var\/)?tmp\//.test(path))
  if (passing !== undefined)
    throw new UsageError(`service: ${passing} is in a temporary folder: move it first, to /usr/local/bin for example`)
}

function requireRoot(): void {
  if (process.getuid?.() !== 0)
    throw new AppError('forbidden', 'service: run it as root (sudo stead service install), or with --user')
}

/** Makes the account, the folder and its file of settings, where they are not there. */
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

function describeInstalled(file: string, { dataDir }: ServicePlan, isOfUser: boolean): string {
  const flag = isOfUser ? ' --user' : ''
  const lingering =
    isOfUser && process.platform === 'linux' ? 'loginctl enable-linger keeps it while you are signed out.\n' : ''
  return `Stead runs, and starts with ${isOfUser ? 'your session' : 'this machine'}: ${file}
Data and settings   ${dataDir}, ${join(dataDir, 'stead.env')}
Log                 stead service logs${flag}
First account       the setup link in the log, or stead user setup-link
${lingering}`
}
