import type { Command } from 'commander'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { SCOPES } from '../../core/scopes.ts'
import { CreatedKey, KeyList } from '../../features/accounts/keys/schemas.ts'
import { addExample } from '../example.ts'
import { UsageError } from '../exit.ts'
import type { ServerClient } from './client.ts'
import { toPlain, toTable } from './table.ts'

type Options = { as?: string; json: boolean }
type CreateOptions = Options & { days?: string; scope: string[] }
type Report = { text: string; json: unknown }

const NOTES = `A key may make no keys: this works where the server runs, by its DATA_DIR, and not by STEAD_KEY.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 75 no server answers, 78 a setting is bad.`

/** Adds `keys`: manages API keys of an account on the server of `DATA_DIR`. */
export function keysCommand(program: Command): void {
  const keys = program.command('keys').description('manages API keys of an account').helpCommand(false)
  addExample(keys, 'stead keys list')
  withOptions(keys, 'list', 'list --as ada@example.com')
    .description('lists the keys, never the secrets')
    .action((options: Options) => run(options, listKeys))
  withOptions(keys, 'create <name>', 'create laptop --days 90 --scope read > key.txt')
    .description('makes a key and prints it, this once')
    .option('--days <count>', 'days until it ends; without it, never')
    .option(
      '--scope <scope>',
      `what it may do (${SCOPES.join(', ')}); may be repeated; without it, everything`,
      collect,
      [],
    )
    .action((name: string, options: CreateOptions) => run(options, (server) => createKey(server, name, options)))
  withOptions(keys, 'revoke <key>', 'revoke laptop')
    .description('ends a key by its id or its name; it stops working with this call')
    .action((key: string, options: Options) => run(options, (server) => revokeKey(server, key)))
}

function withOptions(keys: Command, usage: string, example: string): Command {
  const command = keys
    .command(usage)
    .option('--as <email>', 'whose keys; not needed where there is one account')
    .option('--json', 'print one JSON document', false)
  return addExample(command, `stead keys ${example}`, NOTES)
}

function collect(scope: string, before: string[]): string[] {
  return [...before, scope]
}

async function run(options: Options, command: (server: ServerClient) => Promise<Report>): Promise<void> {
  const { withLocalSession } = await import('./local-session.ts')
  const { text, json } = await withLocalSession(options.as, command)
  process.stdout.write(`${options.json ? JSON.stringify(json) : text}\n`)
}

async function listKeys(server: ServerClient): Promise<Report> {
  const { keys } = await server.ask(KeyList, 'GET', '/api/keys')
  const rows = keys.map(({ name, id, keyPreview, lastUsed, expiresAt }) => [
    name,
    id,
    keyPreview,
    lastUsed ?? 'never',
    expiresAt ?? 'never',
  ])
  return {
    text: rows.length === 0 ? 'No keys yet.' : toTable(['NAME', 'ID', 'KEY', 'USED', 'ENDS'], rows),
    json: { keys },
  }
}

async function createKey(server: ServerClient, name: string, { days, scope }: CreateOptions): Promise<Report> {
  if (days !== undefined && !/^[1-9]\d{0,3}$/.test(days)) throw new UsageError('--days: must be a whole number of days')
  const expiry = days === undefined ? {} : { expiresInDays: Number(days) }
  const scopes = scope.length === 0 ? {} : { scopes: scope }
  const created = await server.ask(CreatedKey, 'POST', '/api/keys', { name, ...expiry, ...scopes })
  return { text: created.key, json: created }
}

async function revokeKey(server: ServerClient, wanted: string): Promise<Report> {
  const { keys } = await server.ask(KeyList, 'GET', '/api/keys')
  const byName = keys.filter(({ name }) => name === wanted)
  if (byName.length > 1) {
    throw new AppError(
      'invalid',
      `${byName.length} keys are called ${wanted}: name one of ${byName.map(({ id }) => id).join(', ')}`,
    )
  }
  const key = keys.find(({ id }) => id === wanted) ?? byName[0]
  if (!key) throw new AppError('not_found', `There is no key ${wanted}`)
  await server.ask(z.unknown(), 'DELETE', `/api/keys/${encodeURIComponent(key.id)}`)
  return { text: toPlain(`${key.name} is revoked`), json: { id: key.id, revoked: true } }
}
