import { z } from 'zod'
import { readConfig } from '../config.ts'
import { isProviderSetting } from './custom-providers.ts'
import { Environment, SETTING_GROUPS } from './environment.ts'
import { isSecretSetting, LISTED_SETTINGS, readSettings } from './read.ts'

type Values = Record<string, string | undefined>

/** Where the value of a setting comes from; `none` is one that is not set and has no default. */
export type SettingSource = 'flag' | 'environment' | 'file' | 'secret-file' | 'default' | 'none'
/** By variable, those alone that were given. */
export type SettingSources = Readonly<Record<string, 'flag' | 'environment' | 'file'>>

/** A setting as people are told it: `value` is as a shell would be given it, `[set]` of a secret, null of one that is not set. */
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
 * Each setting by its variable, null when it is not set and has no default, a secret as `[set]`.
 * @throws StartupError as `readConfig`.
 */
export function showSettings(environment: Values): Record<string, unknown> {
  readConfig(environment)
  const settings: Record<string, unknown> = readSettings(environment)
  const described = describeAll()
  const show = (name: string) => {
    const value = settings[name]
    // What is made of the text is of another form, which nobody could set.
    if (!isRecord(value) || isSecretSetting(name)) return showValue(name, value)
    return environment[name] || described(name).default
  }
  const ofProviders = listProviderSettings(environment).map(
    (name) => [name, showValue(name, environment[name])] as const,
  )
  return Object.fromEntries([...LISTED_SETTINGS.map((name) => [name, show(name)] as const), ...ofProviders])
}

/** The same in the order of the chapter of settings, each with what it does and where it comes from. @throws as `showSettings`. */
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

/** The variables of custom providers that are given; the file of a key stands for the key. */
function listProviderSettings(environment: Values): string[] {
  return Object.keys(environment).filter((name) => isProviderSetting(name) && environment[name]?.trim())
}

/** A shown value as a shell would be given it. */
export function toSettingText(value: unknown): string {
  if (value === null) return ''
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string') ? value.join(',') : String(value)
}

function describeAll() {
  const { properties = {} } = z.toJSONSchema(Environment, { io: 'input', unrepresentable: 'any' })
  return (name: string) => Described.parse(properties[name])
}

/** A file that holds a secret counts before the variable itself. */
function sourceOf(name: string, value: unknown, sources: SettingSources): SettingSource {
  if (sources[`${name}_FILE`]) return 'secret-file'
  return sources[name] ?? (value === null ? 'none' : 'default')
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function showValue(name: string, value: unknown): unknown {
  if (value === undefined) return null
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value) && value.length === 0) return value
  if (isSecretSetting(name)) return maskSecret(value)
  return typeof value === 'string' ? maskUser(value) : value
}

/** Of a secret that is an address its host may be known. */
function maskSecret(value: unknown): string {
  if (typeof value !== 'string' || !isAddress(value)) return '[set]'
  return `${new URL(value).protocol}//${new URL(value).host}`
}

/** A URL without what may be a password in it. */
function maskUser(text: string): string {
  if (!isAddress(text)) return text
  const url = new URL(text)
  const isBare = url.username === '' && url.password === '' && url.search === ''
  const path = maskPath(url.pathname)
  return isBare && path === url.pathname ? text : `${url.protocol}//${url.host}${path}`
}

/** Letters and digits mixed, or so many characters that nobody made them up to be read. */
const CREDENTIAL = /^(?:(?=.*\d)(?=.*[A-Za-z])[\w.:~=+%-]{12,}|[\w.:~=+%-]{32,})$/

/** Services put keys into paths (`/v2/KEY`, `/botID:TOKEN`): a part that is long and no word is hidden. */
function maskPath(path: string): string {
  return path.replace(/[^/]+/g, (part) => (CREDENTIAL.test(part) ? '[hidden]' : part))
}

function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+]*:\/\//i.test(text) && URL.canParse(text)
}
