import type { Command } from 'commander'
import { UsageError } from '../exit.ts'
import { readSecret, readUrl } from '../machines/machine.ts'
import { warnOfMisspelt } from '../misspelt.ts'
import { createServerClient, type ServerClient } from './client.ts'

/** Options by which a command finds the server and signs in. */
export type ServerOptions = { url?: string; keyFile?: string; as?: string; json: boolean }

export function addServerOptions(command: Command): Command {
  return command
    .option('--url <url>', 'address of the dashboard of another server, port 3000 by default (STEAD_URL)')
    .option('--key-file <file>', 'a file with your sk_ key there (STEAD_KEY_FILE, or the key in STEAD_KEY)')
    .option('--as <email>', 'as whom, at the server that runs on DATA_DIR; not needed where there is one account')
    .option('--json', 'print one JSON document', false)
}

/**
 * Connects to the server of `--url`, `STEAD_URL` or `STEAD_PLATFORM` with the given key; without either, to the server
 * on `DATA_DIR`.
 * @throws UsageError for one without the other, and the errors of `withLocalSession`.
 */
export async function withServer<T>(options: ServerOptions, work: (server: ServerClient) => Promise<T>): Promise<T> {
  const { env } = process
  const url = options.url ?? (env.STEAD_URL || env.STEAD_PLATFORM || undefined)
  const key = readSecret(undefined, options.keyFile, 'STEAD_KEY')
  if (url === undefined && key === undefined) {
    const { withLocalSession } = await import('./local-session.ts')
    return withLocalSession(options.as, work)
  }
  warnOfMisspelt(env)
  if (url === undefined) throw new UsageError('--url: is required beside a key (or STEAD_URL)')
  if (key === undefined) throw new UsageError('--key-file: is required beside an address (or STEAD_KEY)')
  if (options.as !== undefined) throw new UsageError('--as: a key speaks for its owner alone')
  return work(createServerClient(readUrl('--url', url), { authorization: `Bearer ${key}` }))
}
