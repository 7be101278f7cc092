import type { Command } from 'commander'
import type { Rotation } from '../apps/keys/rotate-key.ts'
import type { Config } from '../core/config.ts'
import { addExample } from './example.ts'
import { UsageError } from './exit.ts'
import { readEnvironment } from './settings/environment.ts'

type Options = { keyStdin: boolean; json: boolean }

/** Adds `rotate-key`: seals all secrets at rest with another key, while the service is stopped. */
export function rotateKeyCommand(program: Command): void {
  addExample(
    program.command('rotate-key'),
    `DATA_DIR=/srv/stead stead rotate-key
head -c 32 /dev/urandom | base64 > new.key && ENCRYPTION_KEY_FILE=old.key stead rotate-key --key-stdin < new.key`,
    `Stop Stead first. When ENCRYPTION_KEY is set, give the new key on standard input and set ENCRYPTION_KEY to it before
the next start. Otherwise a new one is made and takes the place of DATA_DIR/encryption.key; the one before stays beside
it, because backups from before can be opened with that alone. Make a backup before, and another one after.
When this is broken off, at any point, run it again: the database always has one of the two keys.`,
  )
    .description('seals all secrets in the database with a new ENCRYPTION_KEY')
    .option('--key-stdin', 'read the new key from standard input; when ENCRYPTION_KEY is set', false)
    .option('--json', 'print one JSON document', false)
    .action(async ({ keyStdin, json }: Options) => {
      const { readConfig } = await import('../core/config.ts')
      const { warnOfMisspelt } = await import('./misspelt.ts')
      const { rotateKey } = await import('../apps/keys/rotate-key.ts')
      const config = readConfig(readEnvironment())
      warnOfMisspelt(process.env)
      requireSource(config, keyStdin)
      const rotation = await rotateKey(config, keyStdin ? requireKey(await Bun.stdin.text()) : null)
      process.stdout.write(json ? `${JSON.stringify(rotation)}\n` : toText(rotation))
    })
}

function requireSource({ encryptionKey }: Config, keyStdin: boolean): void {
  if (encryptionKey && !keyStdin)
    throw new UsageError('rotate-key: ENCRYPTION_KEY is set: give the new key with --key-stdin')
  if (!encryptionKey && keyStdin)
    throw new UsageError(
      'rotate-key: --key-stdin is for when ENCRYPTION_KEY is set; without it the new key is made here',
    )
}

/** @throws UsageError for what no setting could hold, or would hold otherwise. */
function requireKey(text: string): string {
  const key = text.replace(/\r?\n$/, '')
  if (/^\S{16,}$/.test(key)) return key
  throw new UsageError('rotate-key: standard input must hold one line of at least 16 characters without white space')
}

function toText({ changed, sealed, keyFile, formerKeyFile }: Rotation): string {
  if (!changed) return 'The database has this key already: set ENCRYPTION_KEY to it before the next start.\n'
  const done = `${sealed} sealed values have the new key now`
  if (keyFile === null)
    return `${done}. Set ENCRYPTION_KEY to it before the next start.
Backups made until now open with the key before: make a new one.\n`
  return `${done}: ${keyFile}
Backups made until now open with the key before, ${formerKeyFile}: make a new one, and delete that key with the old ones.\n`
}
