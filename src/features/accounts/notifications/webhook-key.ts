import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Log } from '../../../core/log.ts'
import { readOrCreate } from '../../../core/text/read-or-create.ts'

/**
 * The secret that signs webhooks when none is configured: made once, readable by its owner alone. The log tells receivers'
 * operators where to find it. @throws StartupError when the file cannot be used.
 */
export function readOrCreateWebhookKey(dataDir: string, log: Log): string {
  const file = join(dataDir, 'webhook.key')
  const create = () => `whsec_${randomBytes(32).toString('base64')}\n`
  const key = readOrCreate(file, 'WATCHDOG_WEBHOOK_SECRET', create)
  log.info({ file }, 'watchdog webhooks are signed with the secret in this file')
  return key
}
