import { Command } from 'commander'
import { listWarnings, readConfig } from '../core/config.ts'

/** Settings that are secrets, wherever in the tree they stand. */
const SECRET_NAME = /(?:key|secret)$/i
/** Addresses that may carry a user, a password or a key: only their origin is shown. */
const SECRET_ADDRESS = /^(?:smtpUrl|baseRpcUrl)$/

/** Adds `config`: what the service would run with. A bad setting is one line and exit code 78. */
export function configCommand(program: Command): void {
  const config = new Command('config').description('shows and checks the settings')
  config
    .command('print')
    .description('prints the settings in effect; secrets are masked')
    .option('--json', 'print one JSON document', false)
    .action(({ json }: { json: boolean }) => {
      const masked = maskSecrets(readConfig(process.env))
      process.stdout.write(json ? `${JSON.stringify(masked)}\n` : `${toLines(masked).join('\n')}\n`)
    })
  config
    .command('check')
    .description('checks the settings and tells what deserves attention')
    .option('--json', 'print one JSON document', false)
    .action(({ json }: { json: boolean }) => {
      const warnings = listWarnings(readConfig(process.env))
      const text = warnings.length === 0 ? 'The settings are good.' : warnings.map((line) => `! ${line}`).join('\n')
      process.stdout.write(json ? `${JSON.stringify({ ok: true, warnings })}\n` : `${text}\n`)
    })
  program.addCommand(config)
}

/** The same tree with every secret as `[set]`; what is not set is null. */
export function maskSecrets(value: unknown, name = ''): unknown {
  if (value === undefined || value === null) return null
  if (Array.isArray(value)) return value.map((entry) => maskSecrets(entry, name))
  if (typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, maskSecrets(entry, key)]))
  }
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'string') return value
  return SECRET_NAME.test(name) ? '[set]' : maskAddress(value, name)
}

/** A URL without user and password, and without its path where that may be a key. */
function maskAddress(text: string, name: string): string {
  if (!/^[a-z][a-z0-9+]*:\/\//i.test(text) || !URL.canParse(text)) return text
  const url = new URL(text)
  const isBare = url.username === '' && url.password === '' && url.search === ''
  if (isBare && !SECRET_ADDRESS.test(name)) return text
  return `${url.protocol}//${url.host}${SECRET_ADDRESS.test(name) ? '' : url.pathname}`
}

/** `ports.web = 3000`, one setting a line. */
function toLines(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path} = ${show(value)}`]
  return Object.entries(value).flatMap(([name, entry]) => toLines(entry, path === '' ? name : `${path}.${name}`))
}

function show(value: unknown): string {
  if (value === null) return '(not set)'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
