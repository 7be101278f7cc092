import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { AppError, StartupError } from '../../core/errors.ts'
import { quoteForShell } from '../../core/text/lines.ts'
import type { BackupAgent } from '../../server/backups/archive.ts'
import type { CreatedBackup } from '../../server/backups/create.ts'
import type { Restored } from '../../server/backups/restore.ts'
import type { RestoredAgent } from '../../server/backups/restore-agent.ts'
import type { ListedBackup } from '../../server/backups/verify.ts'
import { addExample } from '../example.ts'
import { UsageError } from '../exit.ts'
import { findInstalledOn } from '../service/installed.ts'
import { readEnvironment } from '../settings/environment.ts'
import { createProgress, printRemote, toPlace, withLocal } from './places.ts'

type Json = { json: boolean }
type RestoreOptions = Json & { dataDir?: string; inPlace: boolean; agent?: string; replace: boolean }

const EXIT_CODES =
  'Exit codes: 0 everything is whole, 1 something is not, 75 try again later, 78 the data folder is bad.'

/** Adds `backup`: creates, verifies, lists and restores copies of an installation. */
export function backupCommand(program: Command): void {
  const backup = program.command('backup').description('copies of the whole installation').helpCommand(false)
  addExample(backup, 'stead backup create --out /mnt/backups')
  createCommand(backup)
  runCommand(backup)
  verifyCommand(backup)
  listCommand(backup)
  restoreCommand(backup)
  drillCommand(backup)
}

function createCommand(backup: Command): void {
  addExample(
    backup.command('create'),
    'DATA_DIR=/srv/stead stead backup create --out /mnt/backups',
    `Works while Stead runs or is stopped. Holds the database, keys, and what every agent has stored; a key given by
ENCRYPTION_KEY is not in it, nor are the settings. Whoever has the file has everything: keep it as you keep a key.
${EXIT_CODES}`,
  )
    .description('makes a backup and proves it')
    .option('--out <path>', 'the file, or a folder for it; default: BACKUP_TO')
    .option('--output <path>', 'the same as --out')
    .option('--json', 'print one JSON document', false)
    .action(async ({ json, out, output }: Json & { out?: string; output?: string }) => {
      const { readConfig } = await import('../../core/config.ts')
      const { systemClock } = await import('../../core/clock.ts')
      const { createBackup } = await import('../../server/backups/create.ts')
      const config = readConfig(readEnvironment())
      const target = out ?? output ?? config.backups.to
      const { createRemoteBackup, isRemote } = await import('../../server/backups/store.ts')
      const make = isRemote(target) ? createRemoteBackup : createBackup
      using progress = createProgress()
      const created = await make({ config, clock: systemClock }, target, progress.report)
      progress[Symbol.dispose]()
      process.stdout.write(json ? `${JSON.stringify(created)}\n` : describeCreated(created))
      process.exitCode = created.agents.some(({ state }) => state === 'missing') ? 1 : 0
    })
}

function runCommand(backup: Command): void {
  addExample(
    backup.command('run'),
    'BACKUP_TO=/mnt/backups stead backup run',
    `What BACKUP_SCHEDULE does when it is time, for schedules of your own. ${EXIT_CODES}`,
  )
    .description('makes a backup at BACKUP_TO, proves it, then deletes those that BACKUP_KEEP does not keep')
    .option('--json', 'print one JSON document', false)
    .action(async ({ json }: Json) => {
      const { readConfig } = await import('../../core/config.ts')
      const { systemClock } = await import('../../core/clock.ts')
      const { runBackup } = await import('../../server/backups/run.ts')
      using progress = createProgress()
      const made = await runBackup({ config: readConfig(readEnvironment()), clock: systemClock }, progress.report)
      progress[Symbol.dispose]()
      const removed = made.removed.map((file) => `Deleted ${file}\n`).join('')
      process.stdout.write(json ? `${JSON.stringify(made)}\n` : `${describeCreated(made)}${removed}`)
      process.exitCode = made.agents.some(({ state }) => state === 'missing') ? 1 : 0
    })
}

function verifyCommand(backup: Command): void {
  addExample(
    backup.command('verify'),
    'stead backup verify /mnt/backups/stead-2026-11-22T14-00-00-000Z.tar',
    EXIT_CODES,
  )
    .description('takes a backup apart and proves every part of it')
    .argument('<file>')
    .option('--json', 'print one JSON document', false)
    .action(async (name: string, { json }: Json) => {
      const { verifyBackup } = await import('../../server/backups/verify.ts')
      const file = toPlace(name)
      const keys = await readKeys()
      const { manifest, problems } = await withLocal(file, (local) => verifyBackup(local, ...keys))
      const isWhole = problems.length === 0
      const text = isWhole
        ? `${file} is whole: made ${manifest?.createdAt}, ${manifest?.agents.length} agents\n${toLines(manifest?.agents ?? [])}`
        : problems.map((problem) => `✗ ${problem}\n`).join('')
      process.stdout.write(json ? `${JSON.stringify({ file, ok: isWhole, problems, manifest })}\n` : text)
      process.exitCode = isWhole ? 0 : 1
    })
}

function listCommand(backup: Command): void {
  addExample(
    backup.command('list'),
    'stead backup list /mnt/backups',
    'Reads what they say of themselves: verify proves it.',
  )
    .description('lists the backups of a folder, oldest first')
    .argument('[folder]', 'default: BACKUP_TO')
    .option('--json', 'print one JSON document', false)
    .action(async (folder: string | undefined, { json }: Json) => {
      const { readConfig } = await import('../../core/config.ts')
      const { listBackups } = await import('../../server/backups/verify.ts')
      const settings = readConfig(readEnvironment()).backups
      const place = toPlace(folder ?? settings.to)
      const { isRemote } = await import('../../server/backups/store.ts')
      if (isRemote(place)) return printRemote(place, settings, json)
      if (folder !== undefined && !existsSync(place))
        throw new AppError('not_found', `backup: there is no folder ${place}`)
      const backups = await listBackups(place, settings.passphrase ?? null)
      const text = backups.length === 0 ? `No backups in ${place}.\n` : backups.map(toLine).join('')
      process.stdout.write(json ? `${JSON.stringify({ backups: backups.map(toListed) })}\n` : text)
    })
}

function restoreCommand(backup: Command): void {
  addExample(
    backup.command('restore'),
    'stead backup restore /mnt/backups/stead-2026-11-22T14-00-00-000Z.tar --data-dir /srv/stead',
    `With --in-place, while Stead is stopped, its agents are ended and what is in the folder is put aside and kept.
At another place or on another machine the agents are left alone until stead adopt.
With --agent one agent comes back into the installation of DATA_DIR, stopped, also when it was deleted; --replace is for
one that is there and stopped. ${EXIT_CODES}`,
  )
    .description('brings an installation back into a new folder, or one agent into the installation of DATA_DIR')
    .argument('<file>')
    .option('--data-dir <folder>', 'where to; must be empty or not there')
    .option('--in-place', 'replace what is in the folder', false)
    .option('--agent <id>', 'bring this agent alone back, while Stead runs or is stopped')
    .option('--replace', 'with --agent: the agent is there, stopped, and becomes what it was', false)
    .option('--json', 'print one JSON document', false)
    .action(async (name: string, { json, dataDir, inPlace, agent, replace }: RestoreOptions) => {
      if (agent !== undefined) {
        if (dataDir !== undefined || inPlace) {
          throw new UsageError(
            'restore: --agent brings one back into the installation of DATA_DIR: leave --data-dir out',
          )
        }
        return withLocal(toPlace(name), (file) => restoreOneAgent(file, agent, replace, json))
      }
      if (dataDir === undefined) throw new UsageError('restore: --data-dir says where to, or --agent which one')
      const { systemClock } = await import('../../core/clock.ts')
      const { restoreBackup } = await import('../../server/backups/restore.ts')
      const folder = resolve(dataDir)
      const { databaseFile, encryptionKey, agents, backups } = await readSettingsOf(folder)
      requireOwnDatabase(folder, databaseFile)
      const keys = { givenKey: encryptionKey ?? null, passphrase: backups.passphrase ?? null }
      const order = { dataDir: folder, isInPlace: inPlace, dockerHost: agents.dockerHost, ...keys }
      using progress = createProgress()
      const restored = await withLocal(toPlace(name), (file) =>
        restoreBackup({ clock: systemClock }, { ...order, file }, progress.report),
      )
      progress[Symbol.dispose]()
      process.stdout.write(json ? `${JSON.stringify(restored)}\n` : describeRestored(restored))
      process.exitCode = restored.agents.some(({ state }) => state === 'missing') ? 1 : 0
    })
}

async function restoreOneAgent(file: string, agentId: string, replaces: boolean, json: boolean): Promise<void> {
  const { withDatabase } = await import('../database.ts')
  const { systemClock } = await import('../../core/clock.ts')
  const { restoreAgent } = await import('../../server/backups/restore-agent.ts')
  const { findKey } = await import('../../server/keys/encryption-key.ts')
  using progress = createProgress()
  const restored = await withDatabase((connection, config) => {
    const { key, problem } = findKey(config)
    if (key === null || problem !== null) throw new StartupError(`ENCRYPTION_KEY: ${problem ?? 'there is none yet'}`)
    const deps = { connection, dataDir: config.dataDir, key, clock: systemClock }
    return restoreAgent(
      deps,
      {
        ...{ file, agentId, replaces, givenKey: config.encryptionKey ?? null },
        passphrase: config.backups.passphrase ?? null,
      },
      progress.report,
    )
  })
  progress[Symbol.dispose]()
  process.stdout.write(json ? `${JSON.stringify(restored)}\n` : describeAgent(restored))
  process.exitCode = restored.agent.state === 'missing' ? 1 : 0
}

function describeAgent({ agent, createdAt, rows, missing }: RestoredAgent): string {
  const count = rows.reduce((sum, { brought }) => sum + brought, 0)
  const lines = missing.map((what) => `  MISSING: ${what}\n`).join('')
  return `Restored ${agent.id} (${agent.name}) as it was at ${createdAt}: ${count} rows.\n${lines}It is stopped: start it to go on.\n`
}

/** Returns `ENCRYPTION_KEY` and the backup passphrase, as the server reads them. */
async function readKeys(): Promise<[givenKey: string | null, passphrase: string | null]> {
  const { readConfig } = await import('../../core/config.ts')
  const { encryptionKey, backups } = readConfig(readEnvironment())
  return [encryptionKey ?? null, backups.passphrase ?? null]
}

/** Returns the settings of a server on this folder, including its settings file. */
async function readSettingsOf(dataDir: string) {
  const { readConfig } = await import('../../core/config.ts')
  return readConfig(readEnvironment({ dataDir }))
}

/** Checks that the settings use the restored database. @throws StartupError when they name another one. */
function requireOwnDatabase(dataDir: string, databaseFile: string): void {
  const restored = join(dataDir, 'stead.db')
  if (databaseFile === restored) return
  throw new StartupError(`DATABASE_URL: is file:${databaseFile}, and the database is restored to ${restored}: unset it`)
}

function describeCreated({ file, bytes, sha256, agents }: CreatedBackup): string {
  return `${file}\n${bytes} bytes, SHA-256 ${sha256}\n${toLines(agents)}`
}

function describeRestored({ dataDir, createdAt, agents, ended, replaced, standsBack }: Restored): string {
  const gone = ended.length > 0 ? `Ended the agents that ran: ${ended.join(', ')}.\n` : ''
  const aside = replaced ? `What was there before is in ${replaced}: delete it when all is well.\n` : ''
  const stead = `DATA_DIR=${quoteForShell(dataDir)} stead`
  const start = toStartCommand(dataDir) ?? `${stead} serve`
  const next = standsBack ? `Next, because ${standsBack}:\n  ${stead} adopt\n  ${start}\n` : `Next:\n  ${start}\n`
  return `Restored ${dataDir} as it was at ${createdAt}.\n${toLines(agents)}${gone}${aside}${next}`
}

/** Returns the command that starts the systemd service installed on this folder; null without one. */
function toStartCommand(dataDir: string): string | null {
  const service = process.platform === 'linux' ? findInstalledOn(dataDir) : null
  if (service === null) return null
  return service.isOfUser ? 'systemctl --user start stead' : 'sudo systemctl start stead'
}

const WORDS = {
  whole: 'with all that it has stored',
  moving: 'with all that it has stored; it was writing meanwhile',
  none: 'has stored nothing yet',
} as const

function toLines(agents: readonly BackupAgent[]): string {
  const describe = ({ state, reason }: BackupAgent) => (state === 'missing' ? `MISSING: ${reason}` : WORDS[state])
  return agents.map((agent) => `  ${agent.id} (${agent.name}): ${describe(agent)}\n`).join('')
}

function toListed({ file, bytes, manifest, problem }: ListedBackup) {
  if (!manifest) return { file, bytes, problem }
  const { createdAt, stead, instance, schema, agents } = manifest
  return { file, bytes, createdAt, stead, instance, schema: schema.version, agents: agents.length, problem }
}

function toLine({ file, bytes, manifest, problem }: ListedBackup): string {
  const what = manifest
    ? `${manifest.createdAt}\t${manifest.agents.length} agents\tStead ${manifest.stead}`
    : `✗ ${problem}`
  return `${file}\t${bytes} bytes\t${what}\n`
}

/** Adds `backup drill`: proves that a backup can be restored by restoring it. */
function drillCommand(backup: Command): void {
  addExample(
    backup.command('drill'),
    'stead backup drill',
    'Needs room for what is restored in TMPDIR. Exit codes: 0 all came back, 1 something did not.',
  )
    .description('restores a backup into a throw-away folder, opens it, and tells whether all came back')
    .argument('[file]', 'default: the newest of BACKUP_TO')
    .option('--json', 'print one JSON document', false)
    .action(async (name: string | undefined, { json }: { json: boolean }) => {
      const { readConfig } = await import('../../core/config.ts')
      const { systemClock } = await import('../../core/clock.ts')
      const { drillBackup, findNewest } = await import('../../server/backups/drill.ts')
      const { encryptionKey = null, backups } = readConfig(readEnvironment())
      const file = name === undefined ? await findNewest(backups) : toPlace(name)
      const keys = { givenKey: encryptionKey, passphrase: backups.passphrase ?? null }
      using progress = createProgress()
      const drill = await withLocal(file, (local) =>
        drillBackup({ clock: systemClock }, { ...keys, file: local }, progress.report),
      )
      progress[Symbol.dispose]()
      const { createdAt, agents, seconds, problems } = drill
      const text =
        problems.length === 0
          ? `${file} can be restored: made ${createdAt}, ${agents} agents, ${seconds} s\n`
          : problems.map((problem) => `✗ ${problem}\n`).join('')
      process.stdout.write(json ? `${JSON.stringify({ ...drill, file, ok: problems.length === 0 })}\n` : text)
      process.exitCode = problems.length === 0 ? 0 : 1
    })
}
