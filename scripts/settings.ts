/** `bun run settings`: writes `web/docs/settings.md` from the settings as the program reads them; `--check` only says whether it is up to date. */
import { join } from 'node:path'
import { z } from 'zod'
import { SECRETS, SETTING_GROUPS } from '../src/core/environment.ts'

const INTRODUCTION = `# Settings

Settings are environment variables, read once at start. A bad one stops the start with one line that names it and exit code 78; an empty one is an unset one. A variable that is nearly the name of a setting (\`WEB_PRT\`) is named in the log, by \`stead doctor\` and by every command; it stops nothing, because it may belong to another program.

\`stead config print\` shows what is in effect, with secrets masked, and \`stead config check\` what deserves attention. A variable marked with * may be given as \`<NAME>_FILE\` instead: the path of a file that holds the value.
`

const file = join(import.meta.dir, '..', 'web/docs/settings.md')
const actual = describeSettings()

if (process.argv.includes('--check')) {
  const expected = await Bun.file(file)
    .text()
    .catch(() => '')
  if (expected !== actual) console.error('web/docs/settings.md is out of date: run `bun run settings`.')
  process.exit(expected === actual ? 0 : 1)
}
await Bun.write(file, actual)

/** @throws Error when a setting has no description. */
function describeSettings(): string {
  const tables = SETTING_GROUPS.map(({ title, settings }) => {
    const rows = Object.entries(settings).map(([name, schema]) => describeSetting(name, schema))
    return [
      `## ${title}`,
      '',
      '| Variable | Meaning | Default | Form |',
      '| --- | --- | --- | --- |',
      ...rows,
      '',
    ].join('\n')
  })
  return [INTRODUCTION, ...tables].join('\n')
}

function describeSetting(name: string, schema: z.ZodType): string {
  const meaning = schema.description
  if (!meaning) throw new Error(`${name} has no description beside it in src/core/settings/`)
  const mark = isSecret(name) ? ' *' : ''
  return `| \`${name}\`${mark} | ${meaning} | ${toDefault(schema)} | ${toForm(schema)} |`
}

function isSecret(name: string): boolean {
  return SECRETS.some((secret) => secret === name)
}

/** What an unset one is: in words where it depends on others, else as it would be written. */
function toDefault(schema: z.ZodType): string {
  const otherwise = schema.meta()?.otherwise
  if (typeof otherwise === 'string') return otherwise
  const value = layersOf(schema).find((layer) => layer instanceof z.ZodDefault)?.def.defaultValue
  const isNothing = value === undefined || value === '' || value === '[]'
  return isNothing ? 'unset' : `\`${value}\``
}

/** How a value is written: as said beside the setting, else by its kind. */
function toForm(schema: z.ZodType): string {
  const layers = layersOf(schema)
  const said = layers.map((layer) => layer.meta()?.form).find((form) => typeof form === 'string')
  if (said !== undefined) return said
  const innermost = layers.at(-1)
  if (innermost instanceof z.ZodEnum) return innermost.options.map((option) => `\`${option}\``).join(', ')
  if (innermost instanceof z.ZodNumber) return innermost.isInt ? 'whole number' : 'number'
  if (innermost instanceof z.ZodBigInt) return 'whole number'
  return 'text'
}

/** A schema and what it wraps, from the outside in; of a pipe, what is written. */
function layersOf(schema: z.ZodType): z.ZodType[] {
  const inner = unwrap(schema)
  return inner ? [schema, ...layersOf(inner)] : [schema]
}

function unwrap(schema: z.ZodType): z.ZodType | null {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return toType(schema.def.innerType)
  return schema instanceof z.ZodPipe ? toType(schema.def.in) : null
}

/** Zod knows the inner schema by its core alone. */
function toType(schema: z.core.$ZodType): z.ZodType {
  return schema as z.ZodType
}
