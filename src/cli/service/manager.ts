import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { AppError } from '../../core/errors.ts'
import { type InstalledService, parseUnit, type ServicePlan, toPropertyList, toUnit } from './unit.ts'

const NAME = 'stead'
const LABEL = 'stead.service'

/** The service manager: systemd or launchd, for the machine or one user. */
export type Manager = {
  /** Path of the service definition. */
  file: string
  describe(plan: ServicePlan): string
  isInstalled(): boolean
  /** Returns the installed definition; null without one. */
  findInstalled(): InstalledService | null
  isActive(): boolean
  /** Writes the definition, starts the service and enables it at boot. */
  install(plan: ServicePlan): void
  start(): void
  /** Makes the service reload its settings and reopen its log. */
  reload(): void
  /** Stops the service; agents keep running. */
  stop(): void
  /** Stops the service and its agents, and removes the definition. */
  uninstall(): void
  /** Returns the manager's status output and exit code. */
  status(): number
  /** Command that prints the log. */
  toLogsCommand(options: { follow: boolean; lines: number }): string[]
}

/** Finds the service manager. @throws AppError `unavailable` when none is supported here. */
export function findManager(isOfUser: boolean): Manager {
  if (process.platform === 'darwin') return launchd(isOfUser)
  if (Bun.which('systemctl')) return systemd(isOfUser)
  throw new AppError('unavailable', 'service: there is no systemd here; start stead serve by what this machine has')
}

function systemd(isOfUser: boolean): Manager {
  const config = process.env.XDG_CONFIG_HOME || join(homedir(), '.config')
  const folder = isOfUser ? join(config, 'systemd/user') : '/etc/systemd/system'
  const file = join(folder, `${NAME}.service`)
  const scope = isOfUser ? ['--user'] : []
  const control = (...args: string[]) => run(['systemctl', ...scope, ...args])
  return {
    file,
    describe: toUnit,
    isInstalled: () => existsSync(file),
    findInstalled: () => (existsSync(file) ? parseUnit(readFileSync(file, 'utf8')) : null),
    isActive: () => isDone(['systemctl', ...scope, 'is-active', '--quiet', NAME]),
    install(plan) {
      writeDefinition(file, toUnit(plan))
      control('daemon-reload')
      control('enable', NAME)
      control('restart', NAME)
    },
    start: () => control('start', NAME),
    reload: () => control('reload', NAME),
    stop: () => control('stop', NAME),
    uninstall() {
      control('disable', NAME)
      control('stop', NAME)
      // Agent processes outlive the stop of the service.
      isDone(['systemctl', ...scope, 'kill', '--kill-whom=all', NAME])
      rmSync(file, { force: true })
      control('daemon-reload')
    },
    status: () => show(['systemctl', ...scope, '--no-pager', 'status', NAME]),
    toLogsCommand: ({ follow, lines }) => [
      ...['journalctl', ...scope, '--no-pager', '--output=cat', '--unit', NAME, '--lines', String(lines)],
      ...(follow ? ['--follow'] : []),
    ],
  }
}

function launchd(isOfUser: boolean): Manager {
  const folder = isOfUser ? join(homedir(), 'Library/LaunchAgents') : '/Library/LaunchDaemons'
  const file = join(folder, `${LABEL}.plist`)
  const domain = isOfUser ? `gui/${process.getuid?.() ?? 0}` : 'system'
  const describe = (plan: ServicePlan) => toPropertyList(plan, LABEL)
  const target = `${domain}/${LABEL}`
  const start = () => run(['launchctl', 'bootstrap', domain, file])
  const stop = () => run(['launchctl', 'bootout', target])
  const isActive = () => isDone(['launchctl', 'print', target])
  return {
    file,
    describe,
    isInstalled: () => existsSync(file),
    findInstalled() {
      const dataDir = matchIn(file, /<key>WorkingDirectory<\/key>\s*<string>([^<]+)</)
      const user = matchIn(file, /<key>UserName<\/key>\s*<string>([^<]+)</)
      return dataDir === null ? null : { dataDir, user, groups: [], writePaths: null, allowsSandboxes: true }
    },
    isActive,
    install(plan) {
      mkdirSync(join(plan.dataDir, 'logs'), { recursive: true, mode: 0o700 })
      if (isActive()) stop()
      writeDefinition(file, describe(plan))
      start()
    },
    start,
    reload: () => run(['launchctl', 'kill', 'SIGHUP', target]),
    stop,
    uninstall() {
      if (isActive()) stop()
      rmSync(file, { force: true })
    },
    status: () => show(['launchctl', 'print', target]),
    toLogsCommand: ({ follow, lines }) => {
      const log = Bun.spawnSync(['plutil', '-extract', 'StandardOutPath', 'raw', file]).stdout.toString().trim()
      return ['tail', '-n', String(lines), ...(follow ? ['-F'] : []), log]
    },
  }
}

function matchIn(file: string, pattern: RegExp): string | null {
  return existsSync(file) ? (readFileSync(file, 'utf8').match(pattern)?.[1] ?? null) : null
}

function writeDefinition(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text, { mode: 0o644 })
  } catch (error) {
    throw new AppError(
      'unavailable',
      `service: cannot write ${file}: run it as root, or with --user`,
      {},
      { cause: error },
    )
  }
}

/** Runs a command. @throws AppError `unavailable` with its error output when it fails. */
export function run(command: string[]): void {
  const { success, stderr } = Bun.spawnSync(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' })
  if (success) return
  const reason = stderr
    .toString()
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .join('; ')
  throw new AppError('unavailable', `service: ${command.join(' ')} failed${reason ? `: ${reason}` : ''}`)
}

function isDone(command: string[]): boolean {
  return Bun.spawnSync(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' }).success
}

function show(command: string[]): number {
  return Bun.spawnSync(command, { stdin: 'ignore', stdout: 'inherit', stderr: 'inherit' }).exitCode
}
