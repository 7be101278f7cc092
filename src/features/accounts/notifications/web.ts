import { Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { NoBody, validateAnyBody } from '../../../http/validate.ts'
import type { Channel } from './channels.ts'
import { type Notification, TestNotificationResult } from './schemas.ts'

export type NotificationsWebDeps = {
  clock: Clock
  guards: Guards
  channels: readonly Channel[]
  requestsPerMinute: { password: number }
}

/** Lets admins see whether notifications reach them. */
export function notificationsWeb(deps: NotificationsWebDeps) {
  const app = new Hono<WebEnv>()

  app.post(
    '/api/watchdog/test',
    endpoint({
      summary: 'Sends a test notification to the operator',
      tag: 'Watchdog',
      responses: { 200: TestNotificationResult },
      errors: ['unavailable'],
      worksOnFullDisk: true,
    }),
    deps.guards.admin,
    limitRate(() => deps.requestsPerMinute.password, 'Too many requests'),
    validateAnyBody(NoBody),
    async (c) => c.json(await sendTest(deps, c.req.raw.signal)),
  )

  return app
}

/** Sends at once instead of by the queue, because somebody waits. @throws AppError `unavailable` NOT_CONFIGURED. */
async function sendTest(deps: NotificationsWebDeps, signal: AbortSignal): Promise<TestNotificationResult> {
  if (deps.channels.length === 0) {
    const names = 'TELEGRAM_BOT_TOKEN and TELEGRAM_ADMIN_CHAT_ID, or WATCHDOG_WEBHOOK_URL'
    throw new AppError('unavailable', `Notifications are not configured: set ${names}`, { code: 'NOT_CONFIGURED' })
  }
  const notification: Notification = {
    id: newId('wdg'),
    kind: 'test',
    at: deps.clock.now().toISOString(),
    agent: null,
    status: 'Notifications of the watchdog arrive here',
    attempt: 0,
    exitCode: null,
    outOfMemory: false,
  }
  const channels = await Promise.all(
    deps.channels.map(async (channel) => {
      const { error } = await channel.send(notification, signal)
      return { channel: channel.name, delivered: error === null, error }
    }),
  )
  return { success: channels.every(({ delivered }) => delivered), channels }
}
