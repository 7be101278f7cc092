import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { errorMessage, StartupError } from '../errors.ts'
import { url } from './forms.ts'

/** Wire formats of model calls: Chat Completions, Anthropic's Messages, and OpenAI's Responses. */
export const DIALECTS = ['chat', 'messages', 'responses'] as const

/**
 * A model provider besides those with settings of their own. `label` is its display name; `dialects` are those that it
 * speaks, Chat Completions by default.
 */
export type CustomProvider = {
  id: string
  baseUrl: string
  apiKey: string | undefined
  label: string | null
  dialects: readonly (typeof DIALECTS)[number][]
}

/** Ids that custom providers cannot use. */
export const RESERVED_PROVIDER_IDS: readonly string[] = [
  ...['openrouter', 'openai', 'anthropic', 'gemini', 'groq', 'ollama', 'local'],
]

/** Provider ids are the part before the slash of model ids. */
export const PROVIDER_ID = /^[a-z][a-z0-9-]{0,39}$/

const NAME = /^PROVIDER_([A-Z][A-Z0-9_]{0,39})_(BASE_URL|API_KEY|API_KEY_FILE|LABEL|DIALECT)$/

type Values = Record<string, string | undefined>
type Part = 'BASE_URL' | 'API_KEY' | 'API_KEY_FILE' | 'LABEL' | 'DIALECT'

/** Returns whether a variable belongs to a custom provider. */
export function isProviderSetting(name: string): boolean {
  return NAME.test(name)
}

/** Returns whether a variable holds the key of a custom provider. */
export function isProviderSecret(name: string): boolean {
  return NAME.exec(name)?.[2] === 'API_KEY'
}

/**
 * Reads `PROVIDER_<NAME>_BASE_URL` and related variables; `MY_LAB` becomes the id `my-lab`.
 * @throws StartupError naming the missing or invalid variable.
 */
export function readCustomProviders(environment: Values): CustomProvider[] {
  const named = Map.groupBy(
    Object.entries(environment).flatMap(([variable, value]) => {
      const [, name = '', part = ''] = NAME.exec(variable) ?? []
      return name !== '' && value?.trim() ? [{ name, part: part as Part, value: value.trim() }] : []
    }),
    ({ name }) => name,
  )
  return [...named].map(([name, parts]) => toProvider(name, new Map(parts.map(({ part, value }) => [part, value]))))
}

function toProvider(name: string, parts: ReadonlyMap<Part, string>): CustomProvider {
  const variable = `PROVIDER_${name}_BASE_URL`
  const id = name.toLowerCase().replaceAll('_', '-')
  if (RESERVED_PROVIDER_IDS.includes(id)) {
    throw new StartupError(`${variable}: ${id} has settings of its own, choose another name`)
  }
  const given = parts.get('BASE_URL')
  if (given === undefined)
    throw new StartupError(`${variable}: is missing beside PROVIDER_${name}_${[...parts.keys()][0]}`)
  const baseUrl = url.safeParse(given)
  if (!baseUrl.success)
    throw new StartupError(`${variable}: ${z.treeifyError(baseUrl.error).errors[0] ?? 'is not valid'}`)
  const file = parts.get('API_KEY_FILE')
  const apiKey = file === undefined ? parts.get('API_KEY') : readKeyFile(`PROVIDER_${name}_API_KEY_FILE`, file)
  const dialects = readDialects(`PROVIDER_${name}_DIALECT`, parts.get('DIALECT') ?? 'chat')
  return { id, baseUrl: baseUrl.data, apiKey, label: parts.get('LABEL') ?? null, dialects }
}

function readDialects(variable: string, list: string): CustomProvider['dialects'] {
  return list.split(',').map((given) => {
    const dialect = DIALECTS.find((known) => known === given.trim())
    if (dialect === undefined) throw new StartupError(`${variable}: must be a list of ${DIALECTS.join(', ')}`)
    return dialect
  })
}

function readKeyFile(variable: string, file: string): string {
  try {
    const key = readFileSync(file, 'utf8').trim()
    if (key !== '') return key
  } catch (error) {
    throw new StartupError(`${variable}: cannot be read (${errorMessage(error)})`)
  }
  throw new StartupError(`${variable}: ${file} is empty`)
}
