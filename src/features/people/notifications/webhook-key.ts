import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage, StartupError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'

/**
 * The secret that signs webhooks when none is configured: made once, readable by its owner alone. The log tells receivers'
 * operators where to find it. @throws StartupError when the file cannot be used.
 */
export function readOrCreateWebhookKey(dataDir: string, log: Log): string {
  const file = join(dataDir, 'webhook.key')
  try {
    if (!existsSync(file))
      writeFileSync(file, `whsec_${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
    log.info({ file }, 'watchdog webhooks are signed with the secret in this file')
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new StartupError(`WATCHDOG_WEBHOOK_SECRET: ${file} cannot be used (${errorMessage(error)})`, { cause: error })
  }
}
