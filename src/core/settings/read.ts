import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { z } from 'zod'
import { errorMessage, StartupError } from '../errors.ts'
import { isProviderSecret, isProviderSetting } from './custom-providers.ts'
import { Environment, SECRETS } from './environment.ts'

/** Longer values are not repeated in messages. */
const MAX_SHOWN_CHARACTERS = 200

/** Every setting in documentation order. */
export const LISTED_SETTINGS: readonly string[] = Object.keys(Environment.shape)

/** Every variable that `readConfig` reads, including `X_FILE` of secrets. */
export const SETTING_NAMES: readonly string[] = [...LISTED_SETTINGS, ...SECRETS.map((name) => `${name}_FILE`)]

/** Returns whether the setting exists, including those of custom providers. */
export function isSettingName(name: string): boolean {
  return SETTING_NAMES.includes(name) || isProviderSetting(name)
}

/** Returns whether the value is a secret. */
export function isSecretSetting(name: string): boolean {
  return [...SECRETS, 'WATCHDOG_WEBHOOK_URL'].includes(name) || isProviderSecret(name)
}

/**
 * Reads the effective settings by variable; undefined without a value or default.
 * @throws StartupError that names the first invalid variable and, unless secret, its value.
 */
export function readSettings(environment: Record<string, string | undefined>) {
  const given = withoutEmpty(withSecretFiles(environment))
  const parsed = Environment.safeParse(given, { error: describeIssue })
  if (!parsed.success) throw new StartupError(describeFirstIssue(parsed.error, given))
  const env = parsed.data
  const DATA_DIR = resolve(env.DATA_DIR)
  const objects = toPlace(env.OBJECTS_URL?.replace(/^file:(\/\/)?/, '').replace(/\/$/, '') ?? DATA_DIR)
  const DEPLOYMENT_MODE = env.DEPLOYMENT_MODE ?? (env.INTERNAL_API_KEY ? 'cloud' : 'home')
  return {
    ...env,
    DATA_DIR,
    DEPLOYMENT_MODE,
    DATABASE_URL: env.DATABASE_URL ?? `file:${join(DATA_DIR, 'stead.db')}`,
    AGENT_RUNTIME: env.AGENT_RUNTIME ?? (DEPLOYMENT_MODE === 'cloud' ? 'docker' : 'auto'),
    AGENTS_DOMAIN: env.AGENTS_DOMAIN ?? `agents.${env.DOMAIN}`,
    WALLET_EMAIL_DOMAIN: env.WALLET_EMAIL_DOMAIN ?? `wallet.${env.DOMAIN}`,
    ...(env.LOG_FILE !== undefined && { LOG_FILE: resolve(env.LOG_FILE) }),
    ...(env.PLANS_FILE !== undefined && { PLANS_FILE: resolve(env.PLANS_FILE) }),
    BROWSE_ROOT: env.BROWSE_ROOT ? resolve(env.BROWSE_ROOT) : join(DATA_DIR, 'workspace'),
    OBJECTS_URL: objects.startsWith('s3://') ? objects : `file:${objects}`,
    BACKUP_TO: toPlace(env.BACKUP_TO ?? `${objects}/backups`),
    RISC_ISSUER: env.RISC_ISSUER ?? env.IDP_B_ISSUER,
  }
}

/** Resolves a folder to its absolute path; `s3://` addresses stay as they are. */
function toPlace(place: string): string {
  return place.startsWith('s3://') ? place : resolve(place)
}

function withSecretFiles(environment: Record<string, string | undefined>) {
  const result = { ...environment }
  for (const name of SECRETS) {
    const file = environment[`${name}_FILE`]
    if (!file) continue
    if (name === 'BACKUP_PASSPHRASE') requireOwnFile(`${name}_FILE`, file)
    result[name] = readSecretFile(`${name}_FILE`, file)
  }
  return result
}

/**
 * An empty file is an error, because ignoring it would leave backups unencrypted or generate a new key.
 * @throws StartupError
 */
function readSecretFile(name: string, file: string): string {
  let secret: string
  try {
    secret = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new StartupError(`${name}: cannot be read (${errorMessage(error)})`)
  }
  if (secret === '') throw new StartupError(`${name}: ${file} is empty`)
  return secret
}

/** The passphrase opens every backup, so only its owner may access the file. @throws StartupError */
function requireOwnFile(name: string, file: string): void {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & 0o026) === 0) return
  throw new StartupError(`${name}: ${file} can be read or changed by others: chmod 600 it`)
}

/** Shells and compose files cannot unset a variable, so empty values count as unset. */
function withoutEmpty(environment: Record<string, string | undefined>) {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ''))
}

/** Returns one line with the variable, the requirement and, unless secret, the given value. */
export function describeFirstIssue(error: z.ZodError, given: Record<string, string | undefined>): string {
  const issue = error.issues[0]
  const name = String(issue?.path[0] ?? 'settings')
  const message = `${name}: ${issue?.message ?? 'is not valid'}`
  const value = given[name]
  return value === undefined || !isShown(name, value) ? message : `${message}, not ${JSON.stringify(value)}`
}

/** Values that may contain a password or a key are not repeated in a log. */
function isShown(name: string, value: string): boolean {
  return !isSecretSetting(name) && !/[@?]/.test(value) && value.length <= MAX_SHOWN_CHARACTERS
}

/** Returns the requirement in words where the schema has no message of its own. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return /int$/.test(issue.expected) ? 'must be a whole number' : `must be a ${issue.expected}`
    case 'too_big':
      return `must be at most ${issue.maximum}`
    case 'too_small':
      return `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`
    case 'invalid_value':
      return `must be ${issue.values.join(', ').replace(/, ([^,]+)$/, ' or $1')}`
    default:
      return undefined
  }
}
