import { accessSync, chmodSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { migrations } from '../../migrations/list.ts'
import { createCommitLogStore } from '../adapters/commit-log/commit-log.ts'
import { openLogDatabase } from '../adapters/commit-log/log-database.ts'
import { openObjects } from '../adapters/objects/open-objects.ts'
import { readInstanceLocation } from '../adapters/runtimes/process/place.ts'
import { type Config, listWarnings, readConfig } from '../core/config.ts'
import { errorMessage, isDamage } from '../core/errors.ts'
import { createSealer } from '../core/secrets.ts'
import { withoutUserinfo } from '../core/text/url-userinfo.ts'
import { listPendingMigrations } from '../db/migrate.ts'
import { hasTable, openForReading, toDb } from '../db/open.ts'
import { findClosed } from '../features/accounts/encryption/sealed-values.ts'
import { findStandbyReason, hasRunContainers } from '../features/agents/ownership/ownership.ts'
import { describeRestore, toOneLine } from '../server/damage.ts'
import { findKey } from '../server/keys/encryption-key.ts'
import { listKeyFiles } from '../server/keys/key-file.ts'
import { broken, type Check, type Fix, ok, warning } from './check.ts'
import { findServices, type KnownServices } from './given-services.ts'
import { listMisspelt } from './misspelt.ts'
import { checkBackups, checkDisk, checkWritePaths, findBackupPlan } from './operation-checks.ts'
import { findInstalledOn } from './service/installed.ts'

type Sqlite = ReturnType<typeof openForReading>

/** Minimum number of distinct characters in a random key. */
const MIN_DIFFERENT_CHARACTERS = 12
const MIN_KEY_LENGTH = 32

/** Runs every check that does not need a running server; changes only file access times. */
export async function examine(readEnvironment: () => Record<string, string | undefined>): Promise<Check[]> {
  try {
    const environment = readEnvironment()
    const config = readConfig(environment)
    if (existsSync(config.dataDir) && !statSync(config.dataDir).isDirectory())
      return [broken('data folder', `DATA_DIR: ${config.dataDir} is no folder`)]
    const services = findServices(config)
    const plan = findBackupPlan(config)
    return [
      ...checkSettings(config, environment, services),
      checkMode(config, environment),
      ...checkWritePaths(config),
      checkDataDir(config),
      ...checkDisk(config, plan),
      ...checkFiles(config),
      ...checkDatabase(config),
      ...checkKey(config),
      checkInternalKey(config),
      checkAdmins(config, services),
      checkMail(config, services),
      checkProviders(config, services),
      await checkRuntime(config),
      checkNotifications(config),
      checkBackups(config, plan, new Date()),
      ...(await checkObjects(config)),
      ...(await checkCluster(config)),
    ]
  } catch (error) {
    return [{ name: 'settings', status: 'error', message: errorMessage(error) }]
  }
}

function checkSettings(
  config: Config,
  environment: Record<string, string | undefined>,
  { mail }: KnownServices,
): Check[] {
  const warnings = [...listMisspelt(environment), ...listWarnings(config, mail !== null)]
  if (warnings.length === 0) return [ok('settings', 'good')]
  return warnings.map((message) => warning('settings', message))
}

/** Checks that the log of a cluster answers, and keeps acknowledged writes when its server is lost. */
async function checkCluster({ cluster }: Config): Promise<Check[]> {
  if (!cluster) return []
  const name = 'cluster'
  const store = createCommitLogStore(openLogDatabase(cluster.logUrls))
  try {
    if (await store.isSynchronous()) return [ok(name, 'the log is replicated synchronously')]
    const risk = 'the log has no synchronous replica: acknowledged writes are lost when its server is lost'
    if (cluster.allowsAsync) return [warning(name, `${risk} (accepted by CLUSTER_ALLOW_ASYNC)`)]
    return [broken(name, `CLUSTER_LOG_URL: ${risk}; CLUSTER_ALLOW_ASYNC=true accepts that`)]
  } catch (error) {
    return [broken(name, `CLUSTER_LOG_URL: no server that accepts writes answers (${errorMessage(error)})`)]
  } finally {
    await store.close()
  }
}

/** Checks that the store of videos and snapshots answers, and may be read. */
async function checkObjects({ objects, dataDir }: Config): Promise<Check[]> {
  const name = 'object store'
  if ('folder' in objects && objects.folder === dataDir) return []
  const text = 'folder' in objects ? objects.folder : objects.address
  try {
    if ('folder' in objects) accessSync(objects.folder, constants.R_OK | constants.W_OK)
    await openObjects(objects).list('videos/')
    return [ok(name, `${text} answers`)]
  } catch (error) {
    return [broken(name, `OBJECTS_URL: ${errorMessage(error)}`)]
  }
}

function checkMode({ mode, internalApiKey }: Config, environment: Record<string, string | undefined>): Check {
  if (environment.DEPLOYMENT_MODE) return ok('mode', `${mode}, by DEPLOYMENT_MODE`)
  return ok(
    'mode',
    `${mode}, because INTERNAL_API_KEY is ${internalApiKey ? '' : 'not '}set and DEPLOYMENT_MODE is not`,
  )
}

function checkDataDir({ dataDir }: Config): Check {
  const name = 'data folder'
  if (!existsSync(dataDir)) return warning(name, `${dataDir} is not there yet; the first start creates it`)
  const mode = modeOf(dataDir)
  if ((mode & 0o077) === 0) return ok(name, `${dataDir} is ours alone`)
  const fix = toModeFix(dataDir, 0o700)
  const problem = `${dataDir} has mode ${mode.toString(8)}: others can get in (${fix.command})`
  return { ...((mode & 0o022) === 0 ? warning(name, problem) : broken(name, problem)), fix }
}

/** Checks the permissions of files with secrets. */
function checkFiles({ dataDir, databaseFile, encryptionKey }: Config): Check[] {
  const files = [databaseFile, ...(encryptionKey ? [] : listKeyFiles(dataDir))].filter((file) => existsSync(file))
  const open = files.filter((file) => (modeOf(file) & 0o077) !== 0)
  if (open.length > 0) {
    return open.map((file) => {
      const fix = toModeFix(file, 0o600)
      return { ...broken('file modes', `others can read ${file} (${fix.command})`), fix }
    })
  }
  return files.length > 0 ? [ok('file modes', 'readable by their owner alone')] : []
}

function toModeFix(path: string, mode: number): Fix {
  return { command: `chmod ${mode.toString(8)} ${path}`, run: () => chmodSync(path, mode) }
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777
}

function checkDatabase(config: Config): Check[] {
  const { databaseFile } = config
  if (!existsSync(databaseFile)) return [warning('database', 'there is none yet; the first start creates it')]
  let sqlite: Sqlite | undefined
  try {
    sqlite = openForReading(databaseFile)
    return [checkIntegrity(sqlite, config), checkSchema(sqlite), checkStandby(sqlite, config)]
  } catch (error) {
    const advice = isDamage(error) ? `: ${describeRestore(config)}` : ''
    return [broken('database', `${errorMessage(error)}${advice}`)]
  } finally {
    sqlite?.close()
  }
}

function checkIntegrity(sqlite: Sqlite, config: Config): Check {
  const result = sqlite.pragma('quick_check(1)', { simple: true })
  if (result !== 'ok') return broken('database', `damaged (${toOneLine(String(result))}): ${describeRestore(config)}`)
  const orphans = sqlite.pragma('foreign_key_check')
  if (Array.isArray(orphans) && orphans.length > 0)
    return broken('database', `${orphans.length} rows lost their parent`)
  return ok('database', 'whole')
}

function checkSchema(sqlite: Sqlite): Check {
  try {
    const pending = listPendingMigrations(sqlite, migrations)
    if (pending.length === 0) return ok('schema', 'up to date')
    return warning('schema', `the next start applies ${pending.join(', ')}`)
  } catch (error) {
    return broken('schema', errorMessage(error))
  }
}

/** Reports standby as a warning: it explains why agents do not run. */
function checkStandby(sqlite: Sqlite, { dataDir, databaseFile }: Config): Check {
  const name = 'installation'
  const instance = join(dataDir, 'instance.id')
  if (!hasTable(toDb(sqlite), 'residence') || !existsSync(instance))
    return ok(name, 'the next start binds it to this place')
  const here = { place: readInstanceLocation(dataDir), databaseFile, instance: readFileSync(instance, 'utf8').trim() }
  const objection = findStandbyReason(toDb(sqlite), here)
  return objection === null ? ok(name, 'has the agents') : warning(name, objection)
}

function checkKey(config: Config): Check[] {
  const name = 'encryption key'
  try {
    const { key, problem, isNext } = findKey(config)
    if (problem) return [broken(name, problem)]
    if (key === null || !existsSync(config.databaseFile)) return []
    const fits = ok(name, 'fits the database')
    const unfinished = warning(name, 'a change was broken off: the next start, or stead rotate-key, finishes it')
    return [isNext ? unfinished : fits, checkSealed(config, key)]
  } catch (error) {
    return [broken(name, errorMessage(error))]
  }
}

function checkSealed({ databaseFile }: Config, key: string): Check {
  const sqlite = openForReading(databaseFile)
  try {
    const purpose = findClosed(toDb(sqlite), createSealer(key))
    const name = 'sealed values'
    return purpose === null
      ? ok(name, 'can be opened')
      : broken(
          name,
          `${purpose} cannot be opened with the key: stead rotate-key --drop-sealed lists such values and drops them`,
        )
  } finally {
    sqlite.close()
  }
}

function checkInternalKey({ internalApiKey: key, mode }: Config): Check {
  const name = 'internal key'
  if (!key) {
    const text =
      'INTERNAL_API_KEY is not set: keys of users (sk_…) work without it, other services that call the backend get 500'
    return mode === 'cloud' ? warning(name, text) : ok(name, text)
  }
  if (key.length < MIN_KEY_LENGTH) return warning(name, `INTERNAL_API_KEY has fewer than ${MIN_KEY_LENGTH} characters`)
  if (new Set(key).size < MIN_DIFFERENT_CHARACTERS) return warning(name, 'INTERNAL_API_KEY does not look random')
  return ok(name, 'strong')
}

function checkAdmins({ adminEmails, databaseFile }: Config, { mail }: KnownServices): Check {
  const name = 'admins'
  const made = countMadeAdmins(databaseFile)
  if (adminEmails.length === 0 && made === 0)
    return warning(name, 'nobody administers over the web: set ADMIN_EMAILS, or use stead user set-admin EMAIL on')
  if (adminEmails.length === 0) return ok(name, `${made} made by stead user set-admin, or first at home`)
  if (mail === null) return warning(name, 'ADMIN_EMAILS is believed without proof, because mail is not configured')
  return ok(name, `${adminEmails.length} addresses, each believed once it is verified`)
}

/** Counts administrators; 0 without a readable database. */
function countMadeAdmins(databaseFile: string): number {
  if (!existsSync(databaseFile)) return 0
  let sqlite: Sqlite | undefined
  try {
    sqlite = openForReading(databaseFile)
    return Number(sqlite.prepare('SELECT count(*) FROM users WHERE is_admin = 1').pluck().get())
  } catch {
    // The database check reports the fault.
    return 0
  } finally {
    sqlite?.close()
  }
}

function checkMail({ mail }: Config, services: KnownServices): Check {
  if (services.mail === 'environment') return ok('mail', `sent as ${mail.from}`)
  if (services.mail === 'dashboard') return ok('mail', 'sent by the server that was given in the dashboard')
  return warning(
    'mail',
    'SMTP_URL is not set and no server was given in the dashboard: addresses cannot be proved and forgotten passwords not be reset',
  )
}

function checkProviders({ ai }: Config, { providers }: KnownServices): Check {
  const name = 'AI providers'
  const ready = providers.map(({ id, source }) => (source === 'dashboard' ? `${id} (given in the dashboard)` : id))
  const all = [...ready, ...(ai.ollamaBaseUrl ? ['ollama'] : []), ...(ai.echo ? ['echo (offline)'] : [])]
  if (all.length > 0) return ok(name, all.join(', '))
  return warning(name, 'none: give a key in the dashboard, set OPENROUTER_API_KEY, or AI_ECHO=true to try without')
}

function checkNotifications({ watchdog, dataDir }: Config): Check {
  const name = 'notifications'
  const { telegram, webhook } = watchdog
  const channels = [
    ...(telegram.botToken && telegram.chatId ? ['Telegram'] : []),
    ...(webhook.url
      ? [`a webhook, signed with ${webhook.secret ? 'the secret given' : join(dataDir, 'webhook.key')}`]
      : []),
  ]
  if (channels.length > 0) return ok(name, channels.join(', '))
  return warning(
    name,
    'the watchdog tells nobody: set TELEGRAM_BOT_TOKEN and TELEGRAM_ADMIN_CHAT_ID, or WATCHDOG_WEBHOOK_URL',
  )
}

/** Returns whether the installation has run containers; false without a readable database. */
export function ranContainers(databaseFile: string): boolean {
  if (!existsSync(databaseFile)) return false
  let sqlite: Sqlite | undefined
  try {
    sqlite = openForReading(databaseFile)
    return hasRunContainers(toDb(sqlite))
  } catch {
    // The database check reports the fault.
    return false
  } finally {
    sqlite?.close()
  }
}

/** Adds whether processes are isolated, as the user of the installed service if there is one and this is root. */
async function describeProcesses({ agents, dataDir }: Config, text: string): Promise<Check> {
  const service = findInstalledOn(dataDir)
  if (service?.allowsSandboxes === false) {
    const command = service.isOfUser ? 'stead service install --user' : 'sudo stead service install'
    return warning('agents', `${text}. Not isolated: the installed service forbids it (${command} allows it)`)
  }
  const { whyNotIsolated } = await import('../server/runtime.ts')
  const user = process.getuid?.() === 0 ? (service?.user ?? null) : null
  const reason = await whyNotIsolated(agents, process.env.PATH ?? '', user)
  if (reason === null) return ok('agents', `${text}; isolated by bubblewrap`)
  return warning('agents', `${text}. Not isolated: ${reason}`)
}

async function checkRuntime(config: Config): Promise<Check> {
  const { agents, databaseFile } = config
  const name = 'agents'
  if (agents.runtime === 'process') return describeProcesses(config, 'run as processes of this machine')
  const { describeBound, whyNoContainers } = await import('../server/runtime.ts')
  const reason = await whyNoContainers(agents)
  if (reason === null) return ok(name, `run in containers of the engine at ${withoutUserinfo(agents.dockerHost)}`)
  const isBound = agents.runtime === 'auto' && ranContainers(databaseFile)
  if (isBound) return broken(name, describeBound(reason))
  if (agents.runtime === 'auto') return describeProcesses(config, `run as processes of this machine: ${reason}`)
  return broken(name, `AGENT_RUNTIME=${agents.runtime} cannot run them: ${reason}`)
}
