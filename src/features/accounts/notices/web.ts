import { Hono } from 'hono'
import { Done, endpoint, type RouteOptions } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { NoBody, validate, validateAnyBody } from '../../../http/validate.ts'
import {
  type ChannelDeps,
  changeChannel,
  createChannel,
  deleteChannel,
  listChannels,
  testChannel,
  toChannel,
} from './channels.ts'
import { listNotices } from './list.ts'
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
  OneChannel,
} from './schemas.ts'
import { changeWishes, findWishes } from './settings.ts'

export type NoticesWebDeps = ChannelDeps & {
  guards: Guards
  requestsPerMinute: { password: number }
}

const onFullDisk: RouteOptions = { worksOnFullDisk: true }

/** How and where owners are told of their agents, and what they were told. Keys neither read nor change where that goes. */
export function noticesWeb(deps: NoticesWebDeps) {
  const app = new Hono<WebEnv>()
  const { withSession } = deps.guards
  // A channel that is tried writes to somebody.
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
      await changeWishes(deps, c.var.user.id, c.req.valid('json'))
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

function showSettings({ db, mailer }: NoticesWebDeps, userId: string): NoticeSettings {
  const { mailKinds, quietHours, resendMinutes, mutedAgents } = findWishes(db, userId)
  const kinds = mailKinds.filter((kind) => kind !== 'test')
  return { mail: { available: mailer.isConfigured, kinds }, quietHours, resendMinutes, mutedAgents: [...mutedAgents] }
}
