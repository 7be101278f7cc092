import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../../core/log.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { readOrCreate } from '../../../core/text/read-or-create.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { keepKey, readKeptKey } from '../encryption/master-key.ts'

const KEPT = 'operator-webhooks'

/**
 * Reads the secret that signs webhooks when none is configured; creates it once with mode 0600 and logs its path.
 * @throws StartupError when the file cannot be used.
 */
export function readOrCreateWebhookKey(dataDir: string, log: Log): string {
  const file = toFile(dataDir)
  const key = readOrCreate(file, 'WATCHDOG_WEBHOOK_SECRET', () => `${toSecret(randomBytes(32))}\n`)
  log.info({ file }, 'watchdog webhooks are signed with the secret in this file')
  return key
}

/** Keeps the secret of a cluster in its database: that of the first leader's file, or one derived from the encryption key. */
export function keepClusterWebhookKey(tx: Tx, sealer: Sealer, dataDir: string): void {
  const file = toFile(dataDir)
  const secret = existsSync(file) ? readFileSync(file, 'utf8').trim() : toSecret(sealer.deriveKey(KEPT))
  keepKey(tx, sealer, KEPT, Buffer.from(secret))
}

/** Returns the secret of a cluster, and writes it to this node's file, where operators find it. */
export function readClusterWebhookKey(db: Db, sealer: Sealer, dataDir: string): string {
  const secret = readKeptKey(db, sealer, KEPT).toString()
  writeFileSync(toFile(dataDir), `${secret}\n`, { mode: 0o600 })
  return secret
}

function toFile(dataDir: string): string {
  return join(dataDir, 'webhook.key')
}

function toSecret(key: Buffer): string {
  return `whsec_${key.toString('base64')}`
}
