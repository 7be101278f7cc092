import { chownSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../../core/config.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import { giveToOwnerOf } from '../../core/files/ownership.ts'
import { VERSION } from '../../core/version.ts'
import { addExample } from '../example.ts'
import type { Host } from './host.ts'

type Options = { from: string; sha256?: string; dataDir?: string; user: boolean; yes: boolean }

const WENT_BACK = 3

/** Adds `upgrade`: replaces the executable by another version and rolls back when the new one is not healthy. */
export function upgradeCommand(program: Command): void {
  addExample(
    program.command('upgrade'),
    'stead upgrade --from ./stead-linux-x64 --yes',
    `The file is compared with FILE.sha256 or SHA256SUMS beside it, or with --sha256. Then a backup is made, the service is
stopped, the executable replaced, and the service started. When it is not well for some seconds within two minutes, the
former executable and the former database are put back. Agents go on meanwhile. Where agents run in containers, the agent
image of the new version is made. Without a running service the new
version is started for the trial alone.

Exit codes: 0 upgraded, 1 nothing changed, 3 went back by itself.`,
  )
    .description('replaces this executable by another version, safely')
    .requiredOption('--from <file>', 'the new executable')
    .option('--sha256 <sum>', 'what it must sum up to')
    .option('--data-dir <folder>', 'the installation; else that of the service, or DATA_DIR')
    .option('--user', 'the service of the present user, not of the machine', false)
    .option('-y, --yes', 'do not ask', false)
    .action(async (options: Options) => {
      // Signals are ignored during the replacement: a partial upgrade is worse than a short delay.
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)
      process.exitCode = await upgrade(options)
    })
}

async function upgrade(options: Options): Promise<number> {
  const { layBeside } = await import('./executable.ts')
  if (!Bun.isStandaloneExecutable)
    throw new AppError('invalid', 'upgrade: this is a checkout: upgrade it as it was fetched')
  const target = process.execPath
  const file = resolve(options.from)
  const next = layBeside(file, target, { sha256: options.sha256 })
  try {
    say(next.sum === null ? 'No checksum beside the file: it is taken as it is.' : `SHA-256 ${next.sum}`)
    say(`${target}: ${VERSION} to ${next.version}`)
    requireConsent(options.yes)
    const { config, host } = await findInstallation(options, target)
    await backUp(config)
    // Before the new version starts: without the image it could not create agents.
    const made = await makeNextImage(config, { executable: next.path, version: next.version })
    if (made !== null) say(made)
    return await replace({ config, host, target, next: next.path })
  } finally {
    rmSync(next.path, { force: true })
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function requireConsent(isGiven: boolean): void {
  if (isGiven || (process.stdin.isTTY && confirm('Go on?'))) return
  throw new AppError('invalid', 'upgrade: nothing was changed: say --yes')
}

/**
 * Finds how to restart the server.
 * @throws AppError `conflict` when a server runs that no service manager could restart.
 */
async function findInstallation({ dataDir, user }: Options, target: string): Promise<{ config: Config; host: Host }> {
  const { readConfig } = await import('../../core/config.ts')
  const { readEnvironment } = await import('../settings/environment.ts')
  const { createTrialHost, findRunningManager, toManagedHost } = await import('./host.ts')
  const manager = findRunningManager(user)
  const ofService = manager?.findInstalled()?.dataDir ?? null
  const wanted = dataDir === undefined ? process.env.DATA_DIR : resolve(dataDir)
  const isOfService = ofService !== null && (wanted === undefined || resolve(wanted) === resolve(ofService))
  const folder = isOfService ? ofService : wanted
  const environment = readEnvironment(folder === undefined ? {} : { dataDir: folder })
  const config = readConfig(environment)
  if (manager && isOfService) {
    const host = ['0.0.0.0', '::'].includes(config.host) ? '127.0.0.1' : config.host
    const name = host.includes(':') ? `[${host}]` : host
    return { config, host: toManagedHost(manager, `http://${name}:${config.ports.web}/api/health`) }
  }
  await requireStopped(config)
  return {
    config,
    host: createTrialHost([target, 'serve'], { ...process.env, DATA_DIR: config.dataDir }),
  }
}

async function requireStopped({ dataDir }: Config): Promise<void> {
  if (!existsSync(dataDir)) return
  const { lockDataDir } = await import('../../db/instance-lock.ts')
  try {
    lockDataDir(dataDir)()
  } catch (error) {
    // Without the cause, so that the exit code does not suggest a retry.
    throw new AppError(
      'conflict',
      `upgrade: ${errorMessage(error)}, and no service of it is known: stop it, upgrade, and start it again`,
    )
  }
}

async function backUp(config: Config): Promise<void> {
  if (!existsSync(config.databaseFile)) return
  const { systemClock } = await import('../../core/clock.ts')
  const { createBackup } = await import('../../server/backups/create.ts')
  const { file } = await createBackup({ config, clock: systemClock }, join(config.dataDir, 'backups'))
  giveToOwner(file, config.dataDir)
  say(`Backup ${file}`)
}

/** Created by root and given to the service user. */
function giveToOwner(path: string, dataDir: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dataDir)
  chownSync(dirname(path), uid, gid)
  chownSync(path, uid, gid)
}

type Replacement = { config: Config; host: Host; target: string; next: string }

/** Replaces the executable. @returns the exit code: 0, or 3 after a rollback. */
async function replace({ config, host, target, next }: Replacement): Promise<number> {
  const { swapBack, swapIn } = await import('./executable.ts')
  await host.stop()
  const { kept, former } = await keepFormer().catch(async (error: unknown) => {
    // Nothing has been replaced yet, so the former version continues.
    if (host.isRunning) await host.startWell()
    throw new AppError('unavailable', `upgrade: nothing was changed: ${errorMessage(error)}`, {}, { cause: error })
  })
  try {
    await host.startWell()
  } catch (error) {
    say(`The new version is not well: ${errorMessage(error)}`)
    await host.stop()
    // This order survives an interruption: a newer program opens an older database, not the reverse.
    if (kept !== null) putBack(kept, config.databaseFile)
    swapBack(target)
    if (host.isRunning) await host.startWell()
    say(`Went back: ${target} is ${VERSION} again, on the database as it was.`)
    return WENT_BACK
  }
  await host.settle()
  if (kept !== null) rmSync(kept)
  say(`Upgraded. The former executable is ${former}.`)
  return 0

  async function keepFormer() {
    return { kept: await keepDatabase(config), former: swapIn(next, target) }
  }
}

/** Copies the database between the two versions; the backup may be older. */
async function keepDatabase({ databaseFile, dataDir }: Config): Promise<string | null> {
  if (!existsSync(databaseFile)) return null
  const { copyDatabase } = await import('../../db/copy.ts')
  const { flushFolder } = await import('./executable.ts')
  const folder = join(dataDir, 'backups')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  giveToOwnerOf(dataDir, folder)
  const kept = join(folder, 'before-upgrade.db')
  rmSync(kept, { force: true })
  await copyDatabase(databaseFile, kept, () => undefined)
  const { mode, uid, gid } = statSync(databaseFile)
  const { chmod, chown } = await import('node:fs/promises')
  await chmod(kept, mode & 0o777)
  if (process.getuid?.() === 0) await chown(kept, uid, gid)
  flushFolder(kept)
  return kept
}

/** Remove the new version's WAL files before the former database returns. */
function putBack(kept: string, databaseFile: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(`${databaseFile}${suffix}`, { force: true })
  renameSync(kept, databaseFile)
}

const LIMIT_MS = 300_000
const REMEDY = 'New agents cannot be created until `stead agent-image` has made it.'

/**
 * Builds the agent image for the version of `executable` with the packs of the present image, unless agents run as
 * processes or `AGENT_IMAGE` names a custom image.
 * @returns a line with the outcome; null when there was nothing to do.
 */
async function makeNextImage(
  { agents, databaseFile, dataDir }: Config,
  { executable, version }: { executable: string; version: string },
): Promise<string | null> {
  if (agents.runtime === 'process' || agents.image !== `stead-agent:${VERSION}`) return null
  const { ranContainers } = await import('../checks.ts')
  const { createEngine } = await import('../../adapters/runtimes/engine/engine.ts')
  const { findPacks, listPacks } = await import('../../adapters/runtimes/engine/build-image.ts')
  const engine = createEngine(agents.dockerHost)
  const isUsed = agents.runtime !== 'auto' || ranContainers(databaseFile)
  const image = `stead-agent:${version}`
  if (!(await engine.isAnswering()))
    return isUsed ? `The agent image ${image} is not made: no container engine answers. ${REMEDY}` : null
  const packs = await findPacks(engine, agents.image)
  if (packs === null && !isUsed) return null
  const flags = packs === null ? [] : listPacks(packs).map((name) => `--${name}`)
  const problem = await run([executable, 'agent-image', '--tag', image, ...flags], dataDir)
  if (problem !== null) return `The agent image ${image} is not made: ${problem}. ${REMEDY}`
  return `Agent image ${image}. Agents in containers keep theirs until \`stead agents update --all\`.`
}

/** Runs a command. @returns its last error line when it fails, otherwise null. */
async function run(command: string[], dataDir: string): Promise<string | null> {
  const child = Bun.spawn(command, {
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  const errors = (await new Response(child.stderr).text()).trim()
  if ((await child.exited) === 0) return null
  return errors.split('\n').at(-1) || `it ended with ${child.exitCode ?? child.signalCode}`
}
