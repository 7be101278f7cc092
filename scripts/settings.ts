/**
 * `bun run settings`: writes `web/docs/configuration.md` and `.env.example` from the declared settings. With `--check` it
 * writes nothing and fails when a file would change.
 */
import { join } from 'node:path'
import { z } from 'zod'
import { RELOADED_SETTINGS, SECRETS, SETTING_GROUPS } from '../src/core/settings/environment.ts'

const INTRODUCTION = `# Configuration

\`\`\`sh
cat > /var/lib/stead/stead.env <<'EOF'
NODE_ENV=production
APP_URL=https://stead.example
DOMAIN=stead.example
TRUSTED_PROXIES=127.0.0.1
EOF
stead config check --settings /var/lib/stead/stead.env
\`\`\`

Every setting is an environment variable. Stead reads settings in this order, and the first value is used:

1. flags of \`serve\`, \`doctor\` and \`config\`, such as \`--web-port 8080\`; secrets have no flags
2. environment variables; an empty variable is unset
3. \`stead.env\` in \`DATA_DIR\`, or the file named by \`--settings\` or \`STEAD_SETTINGS\`; \`.env.example\` in the repository lists all settings
4. settings saved in the dashboard, where a page exists for them
5. the defaults below

An invalid value, or an unknown name in the file, stops the start with exit code 78 and names the setting. Misspelt environment variables are logged.

A setting marked with * is a secret: use \`<NAME>_FILE\` to read it from a file.

\`\`\`sh
stead config print      # effective settings, secrets masked
stead config check      # problems
stead config schema     # all settings as JSON Schema
\`\`\`

These settings apply without a restart after SIGHUP (\`stead service reload\`, \`systemctl reload stead\`): ${RELOADED_SETTINGS.map((name) => `\`${name}\``).join(', ')}. The log names changed settings that need a restart. An invalid value changes nothing.
`

const EXAMPLE_INTRODUCTION = `# Settings of Stead. Copy this file to <DATA_DIR>/stead.env (mode 600) and uncomment what you set.
# Flags and environment variables override it. \`stead config check\` validates it.
`

/** Text after the table of a group, for settings with free names. */
const NAMED_SETTINGS: Readonly<Record<string, string>> = {
  Models: `Any server with an OpenAI-compatible API is a provider with up to four settings: \`PROVIDER_<NAME>_BASE_URL\` (such as \`http://10.0.0.5:8000/v1\`), \`PROVIDER_<NAME>_API_KEY\` * (one key, or several as \`key*weight,key*weight\`), \`PROVIDER_<NAME>_LABEL\` (its display name) and \`PROVIDER_<NAME>_DIALECT\` (the APIs it serves, separated by commas: \`chat\`, the default, \`messages\` and \`responses\`). The key is sent as a bearer, for \`messages\` as \`x-api-key\`. \`PROVIDER_MY_LAB_BASE_URL\` offers the models that the server lists at \`/models\` as \`my-lab/<model>\`. SIGHUP applies them. See [Models and API keys](models.md#providers).
`,
  'Rate limits': `The values are requests per minute and caller.
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

/** Returns a settings file in which every setting is a comment with its default. */
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
  const file = isSecret(name) ? ` Or ${name}_FILE: path of a file with the value.` : ''
  const unset = typeof otherwise === 'string' ? ` Unset: ${otherwise}.` : ''
  return `# ${schema.description}.${unset}${file}\n#${name}=${toExampleValue(value)}\n`
}

/** Quotes a value for `stead.env` if it contains blanks, quotes or a #. */
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
      '| Setting | Description | Default | Format |',
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
  if (!meaning) throw new Error(`${name} has no description in src/core/settings/`)
  const mark = isSecret(name) ? ' *' : ''
  return `| \`${name}\`${mark} | ${meaning} | ${toDefault(schema)} | ${toForm(schema)} |`
}

function isSecret(name: string): boolean {
  return SECRETS.some((secret) => secret === name)
}

/** Returns the default of a setting: in words if it depends on others, else its value. */
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

/** Returns the format of a value: the declared one, else the one of its type. */
function toForm(schema: z.ZodType): string {
  const layers = layersOf(schema)
  const declared = layers.map((layer) => layer.meta()?.form).find((form) => typeof form === 'string')
  if (declared !== undefined) return declared
  const innermost = layers.at(-1)
  if (innermost instanceof z.ZodEnum) return innermost.options.map((option) => `\`${option}\``).join(', ')
  if (innermost instanceof z.ZodNumber) return innermost.isInt ? 'whole number' : 'number'
  if (innermost instanceof z.ZodBigInt) return 'whole number'
  return 'text'
}

/** Returns a schema and the schemas it wraps, from the outside in; of a pipe, the input. */
function layersOf(schema: z.ZodType): z.ZodType[] {
  const inner = unwrap(schema)
  return inner ? [schema, ...layersOf(inner)] : [schema]
}

function unwrap(schema: z.ZodType): z.ZodType | null {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return toType(schema.def.innerType)
  return schema instanceof z.ZodPipe ? toType(schema.def.in) : null
}

/** Zod types inner schemas by their core only. */
function toType(schema: z.core.$ZodType): z.ZodType {
  return schema as z.ZodType
}
