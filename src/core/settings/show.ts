import { z } from 'zod'
import { readConfig } from '../config.ts'
import { isJsonObject } from '../json/json-object.ts'
import { isProviderSetting } from './custom-providers.ts'
import { Environment, SETTING_GROUPS } from './environment.ts'
import { isSecretSetting, LISTED_SETTINGS, readSettings } from './read.ts'

type Values = Record<string, string | undefined>

/** The source of a setting's value; `none` when it is unset and has no default. */
type SettingSource = 'flag' | 'environment' | 'file' | 'secret-file' | 'default' | 'none'
/** Sources of the given settings by variable. */
export type SettingSources = Readonly<Record<string, 'flag' | 'environment' | 'file'>>

/** A setting for display: `value` as a shell would be given it, `[set]` for a secret, null when unset. */
export type ShownSetting = {
  name: string
  group: string
  description: string
  value: string | null
  isSecret: boolean
  source: SettingSource
}

const Described = z.object({ description: z.string(), default: z.unknown().optional() })

/**
 * Returns each setting by variable: null when unset without a default, `[set]` for secrets.
 * @throws StartupError as `readConfig`.
 */
export function showSettings(environment: Values): Record<string, unknown> {
  readConfig(environment)
  const settings: Record<string, unknown> = readSettings(environment)
  const described = describeAll()
  const show = (name: string) => {
    const value = settings[name]
    // Show the text: the parsed value has another form that cannot be entered.
    if (!isJsonObject(value) || isSecretSetting(name)) return showValue(name, value)
    return environment[name] || described(name).default
  }
  const ofProviders = listProviderSettings(environment).map(
    (name) => [name, showValue(name, environment[name])] as const,
  )
  return Object.fromEntries([...LISTED_SETTINGS.map((name) => [name, show(name)] as const), ...ofProviders])
}

/** Returns the same in documentation order, with descriptions and sources. @throws as `showSettings`. */
export function listShownSettings(environment: Values, sources: SettingSources): ShownSetting[] {
  const shown = showSettings(environment)
  const described = describeAll()
  const names = SETTING_GROUPS.flatMap(({ title, settings }) => {
    const own = Object.keys(settings).map((name) => ({ name, group: title, ...described(name) }))
    const ofProviders = title === MODELS_TITLE ? listProviderSettings(environment) : []
    return [...own, ...ofProviders.map((name) => ({ name, group: title, description: OF_PROVIDER }))]
  })
  return names.map(({ name, group, description }) => ({
    name,
    group,
    description,
    value: shown[name] === null ? null : toSettingText(shown[name]),
    isSecret: isSecretSetting(name),
    source: sourceOf(name, shown[name], sources),
  }))
}

const MODELS_TITLE = 'Models'
const OF_PROVIDER = 'A provider of models in the OpenAI form, by its name'

/** Lists the given variables of custom providers. */
function listProviderSettings(environment: Values): string[] {
  return Object.keys(environment).filter((name) => isProviderSetting(name) && environment[name]?.trim())
}

/** Returns a shown value as a shell would be given it. */
export function toSettingText(value: unknown): string {
  if (value === null) return ''
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string') ? value.join(',') : String(value)
}

function describeAll() {
  const { properties = {} } = z.toJSONSchema(Environment, { io: 'input', unrepresentable: 'any' })
  return (name: string) => Described.parse(properties[name])
}

/** A secret's file takes precedence over its variable. */
function sourceOf(name: string, value: unknown, sources: SettingSources): SettingSource {
  if (sources[`${name}_FILE`]) return 'secret-file'
  return sources[name] ?? (value === null ? 'none' : 'default')
}

function showValue(name: string, value: unknown): unknown {
  if (value === undefined) return null
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value) && value.length === 0) return value
  if (isSecretSetting(name)) return maskSecret(value)
  return typeof value === 'string' ? maskUser(value) : value
}

/** Shows only the host of a secret URL. */
function maskSecret(value: unknown): string {
  if (typeof value !== 'string' || !isAddress(value)) return '[set]'
  return `${new URL(value).protocol}//${new URL(value).host}`
}

/** Removes possible passwords from a URL. */
function maskUser(text: string): string {
  if (!isAddress(text)) return text
  const url = new URL(text)
  const isBare = url.username === '' && url.password === '' && url.search === ''
  const path = maskPath(url.pathname)
  return isBare && path === url.pathname ? text : `${url.protocol}//${url.host}${path}`
}

/** Mixed letters and digits, or at least 32 characters. */
const CREDENTIAL = /^(?:(?=.*\d)(?=.*[A-Za-z])[\w.:~=+%-]{12,}|[\w.:~=+%-]{32,})$/

/** Hides path segments that look like keys, such as `/v2/KEY` or `/botID:TOKEN`. */
function maskPath(path: string): string {
  return path.replace(/[^/]+/g, (part) => (CREDENTIAL.test(part) ? '[hidden]' : part))
}

function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+]*:\/\//i.test(text) && URL.canParse(text)
}
