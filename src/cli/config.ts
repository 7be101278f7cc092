import type { Command } from 'commander'
import { z } from 'zod'
import { listWarnings, readConfig } from '../core/config.ts'
import { StartupError } from '../core/errors.ts'
import { Environment, SECRETS } from '../core/settings/environment.ts'
import { isSecretSetting } from '../core/settings/read.ts'
import { showSettings, toSettingText } from '../core/settings/show.ts'
import { addExample } from './example.ts'
import { findServices } from './given-services.ts'
import { listMisspelt, warnOfMisspelt } from './misspelt.ts'
import { testWritePaths } from './service/installed.ts'
import { addSettingFlags, readEnvironment } from './settings/environment.ts'

const Shown = z.object({
  description: z.string(),
  form: z.string().optional(),
  otherwise: z.string().optional(),
  enum: z.array(z.string()).optional(),
  default: z.unknown().optional(),
})

/** Adds `config`: prints the effective settings. Exit code 78 for an invalid one. */
export function configCommand(program: Command): void {
  const config = program.command('config').description('shows and checks the settings').helpCommand(false)
  addExample(config, 'stead config print')
  addSettingFlags(addExample(config.command('print'), 'stead config print | grep PORT'))
    .description('prints the settings in effect by their variable; secrets are masked')
    .option('--json', 'print one JSON document', false)
    .action(({ json, ...flags }: { json: boolean }) => {
      const shown = showSettings(readEnvironment(flags))
      warnOfMisspelt(process.env)
      const lines = Object.entries(shown).map(([name, value]) => `${name}=${toSettingText(value)}`)
      process.stdout.write(json ? `${JSON.stringify(shown)}\n` : `${lines.join('\n')}\n`)
    })
  addSettingFlags(addExample(config.command('check'), 'WEB_PORT=8080 stead config check && stead serve'))
    .description('checks the settings and that the folders they name can be written')
    .option('--json', 'print one JSON document', false)
    .action(({ json, ...flags }: { json: boolean }) => {
      const settings = readConfig(readEnvironment(flags))
      const { problems, untested } = testWritePaths(settings)
      if (problems[0]) throw new StartupError(problems[0].text)
      const hasMail = findServices(settings).mail !== null
      const warnings = [
        ...listMisspelt(process.env),
        ...listWarnings(settings, hasMail),
        ...(untested === null ? [] : [`Only root can test what ${untested} may write: run it with sudo.`]),
      ]
      const text = warnings.length === 0 ? 'The settings are good.' : warnings.map((line) => `! ${line}`).join('\n')
      process.stdout.write(json ? `${JSON.stringify({ ok: true, warnings })}\n` : `${text}\n`)
    })
  addExample(config.command('schema'), 'stead config schema > stead.schema.json')
    .description('prints every setting as JSON Schema: what it means, what it may be, what an unset one is')
    .option('--json', 'print it in one line', false)
    .action(({ json }: { json: boolean }) => {
      process.stdout.write(`${JSON.stringify(describeSettings(), null, json ? 0 : 2)}\n`)
    })
}

/** Prints the settings as JSON Schema for editors; `default` is the value when unset. */
function describeSettings(): unknown {
  const { properties = {} } = z.toJSONSchema(Environment, { io: 'input', unrepresentable: 'any' })
  const described = Object.entries(properties).map(([name, schema]) => [name, toTextSchema(name, schema)])
  const files = SECRETS.map((name) => [`${name}_FILE`, { type: 'string', description: `A file that holds ${name}` }])
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Settings of Stead',
    type: 'object',
    properties: Object.fromEntries([...described, ...files]),
  }
}

function toTextSchema(name: string, schema: unknown): unknown {
  const { description, form, otherwise, enum: words, default: value } = Shown.parse(schema)
  return {
    type: 'string',
    description,
    ...(words && { enum: words }),
    ...(value !== undefined && value !== '' && { default: String(value) }),
    ...(form !== undefined && { 'x-form': form }),
    ...(otherwise !== undefined && { 'x-otherwise': otherwise }),
    ...(isSecretSetting(name) && { writeOnly: true }),
  }
}
