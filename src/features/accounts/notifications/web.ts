import { Hono } from 'hono'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Db } from '../../../db/open.ts'
import { Done, endpoint, type RouteOptions } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { NoBody, validate, validateAnyBody } from '../../../http/validate.ts'
import { listNotices } from './notices.ts'
import type { OperatorChannel } from './notify-operators.ts'
import {
  changeChannel,
  createChannel,
  deleteChannel,
  listChannels,
  type OwnerChannelDeps,
  testChannel,
  toChannel,
} from './owner-channels.ts'
import {
  ChangeChannelRequest,
  ChangeNoticeSettings,
  ChannelTest,
  CreateChannelRequest,
  CreatedChannel,
  NoticeChannelList,
  NoticeList,
  NoticeQuery,
  NoticeSettings,
  type Notification,
  OneChannel,
  TestNotificationResult,
} from './schemas.ts'
import { changeNoticePreferences, findNoticePreferences } from './send-notice.ts'

/** Route that sends a test notification to operators. */
export function notificationsWeb(deps: {
  clock: Clock
  guards: Guards
  channels: readonly OperatorChannel[]
  requestsPerMinute: { password: number }
}) {
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

/**
 * Sends at once instead of by the queue, because the caller waits for the result.
 * @throws AppError `unavailable` NOT_CONFIGURED.
 */
async function sendTest(
  deps: { clock: Clock; channels: readonly OperatorChannel[] },
  signal: AbortSignal,
): Promise<TestNotificationResult> {
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

const onFullDisk: RouteOptions = { worksOnFullDisk: true }

/** Notice routes of the web API: session cookie only, so API keys can neither read nor redirect notices. */
export function noticesWeb(deps: OwnerChannelDeps & { guards: Guards; requestsPerMinute: { password: number } }) {
  const app = new Hono<WebEnv>()
  const { withSession } = deps.guards
  // Creating or testing a channel sends a message to a third party.
  const seldom = limitRate(() => deps.requestsPerMinute.password, 'Too many requests')

  app.get(
    '/api/notices',
    endpoint({ summary: 'Lists your notifications', tag: 'Notifications', responses: { 200: NoticeList } }),
    withSession,
    validate('query', NoticeQuery),
    (c) => c.json(listNotices(deps.db, c.var.user.id, c.req.valid('query'))),
  )

  app.get(
    '/api/notices/settings',
    endpoint({
      summary: 'Returns your notification settings',
      tag: 'Notifications',
      responses: { 200: NoticeSettings },
    }),
    withSession,
    (c) => c.json(showSettings(deps, c.var.user.id)),
  )

  app.put(
    '/api/notices/settings',
    endpoint({
      summary: 'Changes your notification settings',
      tag: 'Notifications',
      responses: { 200: NoticeSettings },
      ...onFullDisk,
    }),
    withSession,
    validate('json', ChangeNoticeSettings),
    async (c) => {
      await changeNoticePreferences(deps, c.var.user.id, c.req.valid('json'))
      return c.json(showSettings(deps, c.var.user.id))
    },
  )

  app.get(
    '/api/notices/channels',
    endpoint({
      summary: 'Lists your notification channels',
      tag: 'Notifications',
      responses: { 200: NoticeChannelList },
    }),
    withSession,
    (c) => c.json({ channels: listChannels(deps, c.var.user.id) }),
  )

  app.post(
    '/api/notices/channels',
    endpoint({
      summary: 'Adds a notification channel',
      tag: 'Notifications',
      responses: { 201: CreatedChannel },
      errors: ['limited'],
    }),
    withSession,
    seldom,
    validate('json', CreateChannelRequest),
    async (c) => {
      const { row, secret } = await createChannel(deps, c.var.user.id, c.req.valid('json'), c.req.raw.signal)
      return c.json({ channel: toChannel(row), secret }, 201)
    },
  )

  app.patch(
    '/api/notices/channels/:id',
    endpoint({
      summary: 'Changes a notification channel',
      tag: 'Notifications',
      responses: { 200: OneChannel },
      errors: ['not_found'],
      ...onFullDisk,
    }),
    withSession,
    validate('json', ChangeChannelRequest),
    async (c) => {
      const row = await changeChannel(deps, c.var.user.id, c.req.param('id'), c.req.valid('json'))
      return c.json({ channel: toChannel(row) })
    },
  )

  app.post(
    '/api/notices/channels/:id/test',
    endpoint({
      summary: 'Sends a test notification',
      tag: 'Notifications',
      responses: { 200: ChannelTest },
      errors: ['not_found', 'unavailable'],
      ...onFullDisk,
    }),
    withSession,
    seldom,
    validateAnyBody(NoBody),
    async (c) => {
      const error = await testChannel(deps, c.var.user.id, c.req.param('id'), c.req.raw.signal)
      return c.json({ delivered: error === null, error })
    },
  )

  app.delete(
    '/api/notices/channels/:id',
    endpoint({
      summary: 'Removes a notification channel',
      tag: 'Notifications',
      responses: { 200: Done },
      errors: ['not_found'],
    }),
    withSession,
    async (c) => {
      await deleteChannel(deps, c.var.user.id, c.req.param('id'))
      return c.json({ success: true })
    },
  )

  return app
}

function showSettings({ db, mailer }: { db: Db; mailer: Mailer }, userId: string): NoticeSettings {
  const { mailKinds, quietHours, resendMinutes, mutedAgents } = findNoticePreferences(db, userId)
  const kinds = mailKinds.filter((kind) => kind !== 'test')
  return { mail: { available: mailer.isConfigured, kinds }, quietHours, resendMinutes, mutedAgents: [...mutedAgents] }
}
