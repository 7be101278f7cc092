import { randomBytes } from 'node:crypto'
import { and, asc, count, eq, sql } from 'drizzle-orm'
import type { Recipient } from '../../../adapters/channels/messenger.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { withoutUserinfo } from '../../../core/text/url-userinfo.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { users } from '../users/tables.ts'
import { type NoticeDeps, openMail, openRecipient } from './deliver.ts'
import { toNoticeMessage } from './notices.ts'
import {
  type ChangeChannelRequest,
  type CreateChannelRequest,
  MAIL_CHANNEL,
  NOTICE_KINDS,
  type NoticeChannel,
} from './schemas.ts'
import { noticeChannels, type notices } from './tables.ts'

export type OwnerChannelDeps = NoticeDeps
type ChannelRow = typeof noticeChannels.$inferSelect

const MAX_CHANNELS = 10
const KEY_BYTES = 32
const NAMES: Readonly<Record<ChannelRow['kind'], string>> = {
  telegram: 'Telegram',
  discord: 'Discord',
  ntfy: 'ntfy',
  webhook: 'The webhook',
}

/**
 * Stores a channel after a test message was delivered.
 * @returns the channel, and the secret of a webhook.
 * @throws AppError `invalid` with the receiver's error, `limited` beyond ten channels.
 */
export async function createChannel(
  deps: OwnerChannelDeps,
  userId: string,
  request: CreateChannelRequest,
  signal: AbortSignal,
): Promise<{ row: ChannelRow; secret: string | null }> {
  requireQuota(deps.db, userId)
  const { kind, name, kinds } = request
  const secret = kind === 'webhook' ? `whsec_${randomBytes(KEY_BYTES).toString('base64')}` : null
  const recipient = toRecipient(request, secret)
  const error = await tryRecipient(deps, recipient, signal)
  if (error !== null) throw new AppError('invalid', `${NAMES[kind]} ${error}: nothing was saved`)
  const id = newId('nch')
  const now = deps.clock.now()
  const sealedRecipient = deps.sealer.seal(JSON.stringify(recipient), `notice_channels:${id}`)
  const wanted = kinds ?? NOTICE_KINDS.filter((one) => one !== 'test')
  const row = {
    id,
    userId,
    kind,
    name: name ?? kind,
    destination: describe(recipient),
    sealedRecipient,
    kinds: wanted,
    createdAt: now,
    lastSentAt: now,
  }
  return write(deps.db, (tx) => {
    requireQuota(tx, userId)
    return { row: tx.insert(noticeChannels).values(row).returning().get(), secret }
  })
}

/**
 * Sends a test message; the id `mail` is the account's address.
 * @returns the receiver's error, or null.
 * @throws AppError `not_found`, `unavailable` NOT_CONFIGURED without mail, `invalid` for an unverified address, which
 * may belong to another person.
 */
export async function testChannel(
  deps: OwnerChannelDeps,
  userId: string,
  id: string,
  signal: AbortSignal,
): Promise<string | null> {
  if (id === MAIL_CHANNEL) return tryMail(deps, userId, signal)
  return tryRecipient(deps, openRecipient(deps.sealer, getChannel(deps.db, userId, id)), signal)
}

export async function changeChannel(
  { db }: OwnerChannelDeps,
  userId: string,
  id: string,
  { name, kinds }: ChangeChannelRequest,
): Promise<ChannelRow> {
  return write(db, (tx) => {
    getChannel(tx, userId, id)
    const change = { ...(name !== undefined && { name }), ...(kinds !== undefined && { kinds }) }
    return tx.update(noticeChannels).set(change).where(eq(noticeChannels.id, id)).returning().get()
  })
}

/** Pending deliveries of the channel are dropped. */
export async function deleteChannel({ db }: OwnerChannelDeps, userId: string, id: string): Promise<void> {
  await write(db, (tx) => {
    getChannel(tx, userId, id)
    tx.delete(noticeChannels).where(eq(noticeChannels.id, id)).run()
  })
}

/** Deletes the channels of an account that is taken over, so its previous holder receives nothing more. */
export function forgetChannels(tx: Tx, userId: string): void {
  tx.delete(noticeChannels).where(eq(noticeChannels.userId, userId)).run()
}

export function listChannels({ db }: Pick<OwnerChannelDeps, 'db'>, userId: string): NoticeChannel[] {
  const rows = db.select().from(noticeChannels).where(eq(noticeChannels.userId, userId))
  return rows.orderBy(asc(sql`rowid`)).all().map(toChannel)
}

export function toChannel(row: ChannelRow): NoticeChannel {
  const { id, kind, name, destination, kinds, createdAt, lastSentAt, lastError } = row
  return {
    id,
    kind,
    name,
    to: destination,
    kinds: kinds.filter((one) => one !== 'test'),
    createdAt: createdAt.toISOString(),
    lastSentAt: lastSentAt?.toISOString() ?? null,
    lastError,
  }
}

/** Discord and webhook URLs contain secrets, so only the host is shown. */
function describe(recipient: Recipient): string {
  switch (recipient.kind) {
    case 'telegram':
      return `chat ${recipient.chatId}`
    case 'ntfy':
      return `${new URL(recipient.server).host}/${recipient.topic}`
    default:
      return new URL(recipient.url).host
  }
}

function toRecipient(request: CreateChannelRequest, secret: string | null): Recipient {
  switch (request.kind) {
    case 'telegram':
      return { kind: 'telegram', botToken: request.botToken, chatId: request.chatId }
    case 'discord':
      return { kind: 'discord', url: request.url }
    case 'ntfy':
      return { kind: 'ntfy', server: request.server, topic: request.topic, token: request.token }
    case 'webhook':
      return { kind: 'webhook', url: request.url, secret: secret ?? '' }
  }
}

async function tryRecipient(deps: OwnerChannelDeps, recipient: Recipient, signal: AbortSignal): Promise<string | null> {
  const { error } = await deps.openMessenger(recipient)(toNoticeMessage(composeTest(deps.clock)), signal)
  return error
}

async function tryMail(deps: OwnerChannelDeps, userId: string, signal: AbortSignal): Promise<string | null> {
  if (!deps.mailer.isConfigured)
    throw new AppError('unavailable', 'This server sends no mail', { code: 'NOT_CONFIGURED' })
  const user = deps.db.select({ verifiedAt: users.emailVerifiedAt }).from(users).where(eq(users.id, userId)).get()
  if (!user?.verifiedAt) throw new AppError('invalid', 'Confirm your address first, in your profile')
  const send = openMail(deps, userId)
  if (!send) throw new AppError('not_found', 'This account has no address for mail')
  const { error } = await send(composeTest(deps.clock), signal)
  return error && withoutUserinfo(error)
}

function composeTest(clock: Clock): typeof notices.$inferSelect {
  const now = clock.now()
  const test = { id: newId('ntc'), kind: 'test', agentId: null, agentName: null, reminders: 0 } as const
  const text = 'This is a test: what your agents need you for is told here.'
  return { ...test, sequence: 0, userId: '', text, createdAt: now, toldAt: now, endedAt: null }
}

function getChannel(db: Db, userId: string, id: string): ChannelRow {
  const isOwn = and(eq(noticeChannels.id, id), eq(noticeChannels.userId, userId))
  const row = db.select().from(noticeChannels).where(isOwn).get()
  if (!row) throw new AppError('not_found', 'Channel not found')
  return row
}

function requireQuota(db: Db, userId: string): void {
  const own = db.select({ channels: count() }).from(noticeChannels).where(eq(noticeChannels.userId, userId)).get()
  if ((own?.channels ?? 0) < MAX_CHANNELS) return
  throw new AppError('limited', `${MAX_CHANNELS} channels are the most`, { limit: MAX_CHANNELS })
}
