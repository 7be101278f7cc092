/** `bun run settings`: writes `web/docs/configuration.md` and `.env.example` from the settings as the program reads them; `--check` only says whether they are up to date. */
import { join } from 'node:path'
import { z } from 'zod'
import { RELOADED_SETTINGS, SECRETS, SETTING_GROUPS } from '../src/core/settings/environment.ts'

const INTRODUCTION = `# Settings

Settings are read at start, from four places. The first that says something counts:

1. flags of \`serve\`, \`doctor\` and \`config\`: \`--web-port 8080\`; secrets have none, because everybody can read those;
2. environment variables: \`WEB_PORT=8080\`; an empty one is an unset one;
3. lines \`WEB_PORT=8080\` of the file \`stead.env\` in \`DATA_DIR\`, or of the one that \`--settings FILE\` or \`STEAD_SETTINGS\` names; \`.env.example\` of the repository has a line for each setting;
4. the defaults below.

A bad setting stops the start with one line that names it and exit code 78. So does a line of the file that is no setting: it names the nearest one. A variable of the environment that is nearly the name of a setting (\`WEB_PRT\`) is named in the log, by \`stead doctor\` and by every command; it stops nothing, because it may belong to another program.

\`stead config print\` shows what is in effect, with secrets masked, \`stead config check\` what deserves attention, and \`stead config schema\` all of this as a JSON Schema. A setting marked with * may be given as \`<NAME>_FILE\` instead: the path of a file that holds the value.

SIGHUP (\`stead service reload\`, \`systemctl reload stead\`) reads them again, the file and the files of secrets: ${RELOADED_SETTINGS.map((name) => `\`${name}\``).join(', ')} count at once, and the log names those that wait for the next start. A bad setting changes nothing: the log says what is wrong, and the former settings go on.
`

const EXAMPLE_INTRODUCTION = `# Settings of Stead: copy this file to <DATA_DIR>/stead.env (mode 600), and take the # from what you set.
# Flags and environment variables count before it. \`stead config check\` says whether it is good.
`

/** Settings whose names are the operator's own, after the table of their group. */
const NAMED_SETTINGS: Readonly<Record<string, string>> = {
  Models: `Any other server with an OpenAI-compatible API is a provider by three variables, for any number of names: \`PROVIDER_<NAME>_BASE_URL\` (its address, such as \`http://10.0.0.5:8000/v1\`), \`PROVIDER_<NAME>_API_KEY\` * (unset: none) and \`PROVIDER_<NAME>_LABEL\` (its name for people). \`PROVIDER_MY_LAB_BASE_URL\` offers what the server lists at \`/models\` as \`my-lab/<model>\`. SIGHUP reads them anew. Administrators add such providers in Admin, Services as well, and set prices there.
`,
}

const root = join(import.meta.dir, '..')
const WRITTEN = { 'web/docs/configuration.md': describeSettings(), '.env.example': toExample() }

let isOutOfDate = false
for (const [path, actual] of Object.entries(WRITTEN)) {
  const file = Bun.file(join(root, path))
  if (!process.argv.includes('--check')) await file.write(actual)
  else if ((await file.text().catch(() => '')) !== actual) {
    console.error(`${path} is out of date: run \`bun run settings\`.`)
    isOutOfDate = true
  }
}
process.exit(isOutOfDate ? 1 : 0)

/** A file of settings in which nothing is set: every line is a comment, with the default where there is one. */
function toExample(): string {
  const groups = SETTING_GROUPS.map(({ title, settings }) => {
    const lines = Object.entries(settings).map(([name, schema]) => toExampleLines(name, schema))
    return [`# --- ${title} ---`, '', ...lines].join('\n')
  })
  return [EXAMPLE_INTRODUCTION, ...groups].join('\n')
}

function toExampleLines(name: string, schema: z.ZodType): string {
  const otherwise = schema.meta()?.otherwise
  const value = typeof otherwise === 'string' ? undefined : findDefault(schema)
  const file = isSecret(name) ? ` Or ${name}_FILE: the path of a file that holds it.` : ''
  const unset = typeof otherwise === 'string' ? ` Unset: ${otherwise}.` : ''
  return `# ${schema.description}.${unset}${file}\n#${name}=${toExampleValue(value)}\n`
}

/** As `stead.env` takes it: what holds blanks or a # stands in quotes. */
function toExampleValue(value: unknown): string {
  const text = value === undefined ? '' : String(value)
  return /[\s#'"]/.test(text) ? `'${text}'` : text
}

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
      ...(NAMED_SETTINGS[title] === undefined ? [] : [NAMED_SETTINGS[title]]),
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
  const value = findDefault(schema)
  const isNothing = value === undefined || value === '' || value === '[]'
  return isNothing ? 'unset' : `\`${value}\``
}

function findDefault(schema: z.ZodType): unknown {
  return layersOf(schema).find((layer) => layer instanceof z.ZodDefault)?.def.defaultValue
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
