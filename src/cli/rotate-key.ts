import type { Command } from 'commander'
import type { Config } from '../core/config.ts'
import type { Dropped, Lost } from '../server/keys/drop-sealed.ts'
import type { Rotation } from '../server/keys/rotate-key.ts'
import { addExample } from './example.ts'
import { UsageError } from './exit.ts'
import { readEnvironment } from './settings/environment.ts'

type Options = { keyStdin: boolean; dropSealed: boolean; yes: boolean; json: boolean }

/** Adds `rotate-key`: re-seals all stored secrets with another key while the server is stopped. */
export function rotateKeyCommand(program: Command): void {
  addExample(
    program.command('rotate-key'),
    `DATA_DIR=/srv/stead stead rotate-key
head -c 32 /dev/urandom | base64 > new.key && ENCRYPTION_KEY_FILE=old.key stead rotate-key --key-stdin < new.key`,
    `Stop Stead first. When ENCRYPTION_KEY is set, give the new key on standard input and set ENCRYPTION_KEY to it before
the next start. Otherwise a new one is made and takes the place of DATA_DIR/encryption.key; the one before stays beside
it, because backups from before can be opened with that alone. Make a backup before, and another one after.
When this is broken off, at any point, run it again: the database always has one of the two keys.

When the key is lost and no backup has it, --drop-sealed lists the secrets that cannot be opened without it, and with --yes
drops them: keys, tokens and passwords must be entered again, and the money in wallets kept here is lost. Agents get new
tokens. Accounts, agents, conversations and memory stay. A copy of the database is kept, in case the key is found.`,
  )
    .description('seals all secrets in the database with a new ENCRYPTION_KEY')
    .option('--key-stdin', 'read the new key from standard input; when ENCRYPTION_KEY is set', false)
    .option('--drop-sealed', 'list the secrets that a lost key sealed; with --yes, drop them', false)
    .option('--yes', 'the list of --drop-sealed is understood', false)
    .option('--json', 'print one JSON document', false)
    .action(async ({ keyStdin, dropSealed, yes, json }: Options) => {
      requireTogether({ keyStdin, dropSealed, yes })
      const { readConfig } = await import('../core/config.ts')
      const { warnOfMisspelt } = await import('./misspelt.ts')
      const { rotateKey } = await import('../server/keys/rotate-key.ts')
      const config = readConfig(readEnvironment())
      warnOfMisspelt(process.env)
      if (dropSealed) return dropLostSecrets(config, yes, json)
      requireSource(config, keyStdin)
      const rotation = await rotateKey(config, keyStdin ? requireKey(await Bun.stdin.text()) : null)
      process.stdout.write(json ? `${JSON.stringify(rotation)}\n` : toText(rotation))
    })
}

function requireTogether({ keyStdin, dropSealed, yes }: Pick<Options, 'keyStdin' | 'dropSealed' | 'yes'>): void {
  if (yes && !dropSealed) throw new UsageError('rotate-key: --yes is for --drop-sealed')
  if (keyStdin && dropSealed)
    throw new UsageError('rotate-key: --drop-sealed uses ENCRYPTION_KEY, or makes a key: leave --key-stdin out')
}

/** Lists the lost values and drops them after confirmation. */
async function dropLostSecrets(config: Config, isConfirmed: boolean, json: boolean): Promise<void> {
  const { dropSealed, findLost } = await import('../server/keys/drop-sealed.ts')
  if (!isConfirmed) {
    const lost = findLost(config)
    process.stdout.write(json ? `${JSON.stringify(lost)}\n` : `Secrets that cannot be opened:\n${describeLost(lost)}`)
    throw new UsageError('rotate-key: nothing was changed; add --yes to drop these secrets for good')
  }
  const dropped = await dropSealed(config)
  process.stdout.write(json ? `${JSON.stringify(dropped)}\n` : describeDropped(dropped))
}

function describeLost({ counts, wallets, twoFactorAccounts }: Lost): string {
  const lines = Object.entries(counts).map(([kind, count]) => `${String(count).padStart(6)}  ${kind}\n`)
  const money =
    wallets.length === 0
      ? ''
      : `WARNING: the keys of these wallets are lost, and with them the money in them:\n${toLines(wallets)}`
  const accounts = twoFactorAccounts.length === 0 ? '' : `Without two-factor sign-in:\n${toLines(twoFactorAccounts)}`
  return `${lines.join('')}${accounts}${money}`
}

function toLines(words: readonly string[]): string {
  return words.map((word) => `        ${word}\n`).join('')
}

function describeDropped(dropped: Dropped): string {
  const { sealed, keyFile, copy } = dropped
  const key = keyFile === null ? 'Secrets are sealed with ENCRYPTION_KEY now.' : `The key is ${keyFile} now.`
  const kept = sealed > 0 ? ` ${sealed} secrets were kept.` : ''
  return `Dropped:
${describeLost(dropped)}${key}${kept}
The database as it was is ${copy}: keep it in case the lost key is found.
Next: stead serve, then enter the secrets again. Make a backup.
`
}

function requireSource({ encryptionKey }: Config, keyStdin: boolean): void {
  if (encryptionKey && !keyStdin)
    throw new UsageError('rotate-key: ENCRYPTION_KEY is set: give the new key with --key-stdin')
  if (!encryptionKey && keyStdin)
    throw new UsageError(
      'rotate-key: --key-stdin is for when ENCRYPTION_KEY is set; without it the new key is made here',
    )
}

/** Checks the new key. @throws UsageError for a value that a setting cannot hold unchanged. */
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
