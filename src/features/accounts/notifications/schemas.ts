import { z } from 'zod'
import { webUrl } from '../../../core/text/names.ts'
import { isTimeZone } from '../../../core/time-zone.ts'

/** Kinds of notices to owners. `test` is sent on request only. */
export const NOTICE_KINDS = [
  'down',
  'recovered',
  'given_up',
  'cap_near',
  'cap_reached',
  'approval_wanted',
  'turn_limited',
  'task_failed',
  'backup_failed',
  'cost_unusual',
  'usage_limit',
  'test',
] as const
export type NoticeKind = (typeof NOTICE_KINDS)[number]
export const CHANNEL_KINDS = ['telegram', 'discord', 'ntfy', 'webhook'] as const
/** The id of the mail channel, which every account has. */
export const MAIL_CHANNEL = 'mail'

const CHOSEN_KINDS = NOTICE_KINDS.filter((kind): kind is Exclude<NoticeKind, 'test'> => kind !== 'test')
const badKinds = `kinds must be a list of ${CHOSEN_KINDS.join(', ')}`
const Kinds = z
  .array(z.enum(CHOSEN_KINDS, badKinds), badKinds)
  .max(CHOSEN_KINDS.length, badKinds)
  .transform((kinds) => [...new Set(kinds)])

const Hour = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'Quiet hours are two times such as 22:00')
const TimeZone = z.string().max(64).refine(isTimeZone, 'timeZone must be a name such as Europe/Berlin')

const QuietHours = z
  .object({ from: Hour, to: Hour, timeZone: TimeZone })
  .refine(({ from, to }) => from !== to, 'Quiet hours begin and end at different times')

/**
 * Notification preferences of an owner. `resendMinutes`: minutes until a reminder of an open problem; null for none.
 */
export const NoticeSettings = z.object({
  mail: z.object({ available: z.boolean(), kinds: z.array(z.enum(CHOSEN_KINDS)) }),
  quietHours: QuietHours.nullable(),
  resendMinutes: z.number().nullable(),
  mutedAgents: z.array(z.string()),
})
export type NoticeSettings = z.infer<typeof NoticeSettings>

const badMinutes = 'resendMinutes must be a whole number from 5 to 10080, or null'

/** `PUT /api/notices/settings`: missing fields stay unchanged. */
export const ChangeNoticeSettings = z
  .object({
    mailKinds: Kinds.optional(),
    quietHours: QuietHours.nullable().optional(),
    resendMinutes: z.int(badMinutes).min(5, badMinutes).max(10_080, badMinutes).nullable().optional(),
    mutedAgents: z.array(z.string().max(100)).max(1000).optional(),
  })
  .meta({ examples: [{ quietHours: { from: '22:00', to: '07:00', timeZone: 'Europe/Berlin' }, resendMinutes: 60 }] })
export type ChangeNoticeSettings = z.infer<typeof ChangeNoticeSettings>

const Address = webUrl('url must be an http or https address')
const Secret = (name: string) => z.string(`${name} required`).trim().min(1, `${name} required`).max(500)
const Common = {
  name: z.string().trim().min(1).max(64).optional(),
  kinds: Kinds.optional(),
}

/** `POST /api/notices/channels`. Credentials are tested before they are stored and never returned. */
export const CreateChannelRequest = z
  .discriminatedUnion(
    'kind',
    [
      z.object({
        kind: z.literal('telegram'),
        botToken: Secret('botToken').regex(/^\d+:[\w-]+$/, 'botToken must look like 123456:ABC…'),
        chatId: Secret('chatId').regex(/^(?:-?\d+|@\w+)$/, 'chatId must be a number or @name'),
        ...Common,
      }),
      z.object({ kind: z.literal('discord'), url: Address, ...Common }),
      z.object({
        kind: z.literal('ntfy'),
        server: Address.default('https://ntfy.sh'),
        topic: Secret('topic').regex(/^[\w-]{1,64}$/, 'topic must be 1 to 64 letters, digits, - or _'),
        token: Secret('token').optional(),
        ...Common,
      }),
      z.object({ kind: z.literal('webhook'), url: Address, ...Common }),
    ],
    { error: `kind must be one of ${CHANNEL_KINDS.join(', ')}` },
  )
  .meta({
    examples: [
      { kind: 'webhook', url: 'https://hooks.example.com/stead' },
      { kind: 'telegram', botToken: '123456:ABC-DEF', chatId: '4711' },
      { kind: 'ntfy', topic: 'my-agents' },
    ],
  })
export type CreateChannelRequest = z.infer<typeof CreateChannelRequest>

/** `PATCH /api/notices/channels/:id`. */
export const ChangeChannelRequest = z
  .object(Common)
  .refine((change) => Object.values(change).some((value) => value !== undefined), { error: 'Nothing to change' })
export type ChangeChannelRequest = z.infer<typeof ChangeChannelRequest>

/** A channel without its secrets; `to` is a short description of the destination. */
export const NoticeChannel = z.object({
  id: z.string(),
  kind: z.enum(CHANNEL_KINDS),
  name: z.string(),
  to: z.string(),
  kinds: z.array(z.enum(CHOSEN_KINDS)),
  createdAt: z.string(),
  lastSentAt: z.string().nullable(),
  lastError: z.string().nullable(),
})
export type NoticeChannel = z.infer<typeof NoticeChannel>
export const NoticeChannelList = z.object({ channels: z.array(NoticeChannel) })
export const OneChannel = z.object({ channel: NoticeChannel })
/** `secret` verifies webhook signatures (Standard Webhooks); returned only once, null for other kinds. */
export const CreatedChannel = OneChannel.extend({ secret: z.string().nullable() })
export const ChannelTest = z.object({ delivered: z.boolean(), error: z.string().nullable() })

export const NoticeQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(50),
  before: z.coerce.number().int().min(1).optional(),
})
export type NoticeQuery = z.infer<typeof NoticeQuery>

/** A notice and its deliveries. */
export const Notice = z.object({
  id: z.string(),
  kind: z.enum(NOTICE_KINDS),
  agentId: z.string().nullable(),
  agentName: z.string().nullable(),
  title: z.string(),
  text: z.string(),
  reminders: z.number(),
  createdAt: z.string(),
  endedAt: z.string().nullable(),
  deliveries: z.array(
    z.object({
      channelId: z.string(),
      dueAt: z.string(),
      attempts: z.number(),
      error: z.string().nullable(),
      sentAt: z.string().nullable(),
    }),
  ),
})
export type Notice = z.infer<typeof Notice>

/** Payload of an owner's webhook, signed per Standard Webhooks 1.0; `version` changes with breaking changes. */
export const NoticeEvent = z.object({
  version: z.literal(1),
  type: z.templateLiteral(['notice.', z.enum(NOTICE_KINDS)]),
  timestamp: z.string(),
  data: Notice.pick({
    id: true,
    kind: true,
    agentId: true,
    agentName: true,
    text: true,
    reminders: true,
    createdAt: true,
  }),
})
export type NoticeEvent = z.infer<typeof NoticeEvent>

export const NoticeList = z.object({ notices: z.array(Notice), next: z.number().nullable() })
export type NoticeList = z.infer<typeof NoticeList>

export const OPERATOR_CHANNELS = ['telegram', 'webhook'] as const
export type OperatorChannelName = (typeof OPERATOR_CHANNELS)[number]

/**
 * A notification to operators. `agent` is null for problems of the host, `attempt` is the number of repairs so far;
 * `exitCode` and `outOfMemory` describe the last exit.
 */
export const Notification = z.object({
  id: z.string(),
  kind: z.enum([
    'degraded',
    'recovered',
    'crash',
    'crash_loop',
    'repair_started',
    'repaired',
    'repair_failed',
    'host_fault',
    'disk_low',
    'disk_recovered',
    'test',
  ]),
  at: z.string(),
  agent: z.object({ id: z.string(), name: z.string() }).nullable(),
  status: z.string(),
  attempt: z.number(),
  exitCode: z.number().nullable(),
  outOfMemory: z.boolean(),
  rung: z.enum(['restart', 'configuration', 'image']).nullish(),
  change: z.string().nullish(),
  logTail: z.string().nullish(),
})
export type Notification = z.infer<typeof Notification>

/** Payload of the operator's webhook, signed per Standard Webhooks 1.0; `version` changes with breaking changes. */
export const WatchdogEvent = z.object({
  version: z.literal(1),
  type: z.templateLiteral(['watchdog.', Notification.shape.kind]),
  timestamp: z.string(),
  data: Notification.pick({ id: true, status: true, attempt: true, exitCode: true, outOfMemory: true }).extend({
    rung: z.enum(['restart', 'configuration', 'image']).nullable(),
    change: z.string().nullable(),
    logTail: z.string().nullable(),
    severity: z.enum(['info', 'warning', 'error', 'critical']),
    agentId: z.string().nullable(),
    agentName: z.string().nullable(),
  }),
})
export type WatchdogEvent = z.infer<typeof WatchdogEvent>

/** `POST /api/watchdog/test`: the result per channel. */
export const TestNotificationResult = z.object({
  success: z.boolean(),
  channels: z.array(
    z.object({ channel: z.enum(OPERATOR_CHANNELS), delivered: z.boolean(), error: z.string().nullable() }),
  ),
})
export type TestNotificationResult = z.infer<typeof TestNotificationResult>

/** How links are delivered: by mail, to the server log in development, or not at all. */
export const LinksGo = z.enum(['by-mail', 'to-log', 'nowhere'])
export type LinksGo = z.infer<typeof LinksGo>

export const MessageResponse = z.object({ message: z.string() })
export type MessageResponse = z.infer<typeof MessageResponse>
