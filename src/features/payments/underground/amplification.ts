import { and, eq, or } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Tx } from '../../../db/open.ts'
import { type Exchange, parsePayload } from './exchange.ts'
import { AmplifyAnswer, AmplifyCompletion, AmplifyRequest } from './schemas.ts'
import { type AmplificationRow, amplifications } from './tables.ts'

/**
 * What `AMPLIFY_*` does besides being delivered: a request is kept; the agent that was asked may accept or decline it, and
 * says where it has done what it accepted. Other actions of this prefix are delivered only.
 * @throws AppError as `applyBooking`.
 */
export function applyAmplification(tx: Tx, exchange: Exchange): void {
  switch (exchange.message.action) {
    case 'AMPLIFY_REQUEST':
      request(tx, exchange)
      break
    case 'AMPLIFY_ACCEPT':
      answer(tx, exchange, 'accepted')
      break
    case 'AMPLIFY_DECLINE':
      answer(tx, exchange, 'declined')
      break
    case 'AMPLIFY_COMPLETE':
      complete(tx, exchange)
      break
  }
}

function request(tx: Tx, exchange: Exchange): void {
  const { message, sender, recipient, now } = exchange
  const { reward } = parsePayload(AmplifyRequest, exchange)
  tx.insert(amplifications)
    .values({
      id: newId('amp'),
      messageId: message.messageId,
      requestingAgentId: sender.id,
      partnerAgentId: recipient.id,
      rewardMicroUsd: reward,
      status: 'requested',
      createdAt: now,
      updatedAt: now,
    })
    .run()
}

function answer(tx: Tx, exchange: Exchange, status: 'accepted' | 'declined'): void {
  const { campaignId } = parsePayload(AmplifyAnswer, exchange)
  move(tx, exchange, { campaignId, before: 'requested', change: { status } })
}

function complete(tx: Tx, exchange: Exchange): void {
  const { campaignId, postUrl } = parsePayload(AmplifyCompletion, exchange)
  move(tx, exchange, { campaignId, before: 'accepted', change: { status: 'completed', postUrl } })
}

type Status = AmplificationRow['status']
type Step = { campaignId: string; before: Status; change: { status: Status; postUrl?: string } }

function move(tx: Tx, { sender, recipient, now }: Exchange, { campaignId, before, change }: Step): void {
  const isTheirs = and(
    or(eq(amplifications.id, campaignId), eq(amplifications.messageId, campaignId)),
    eq(amplifications.partnerAgentId, sender.id),
    eq(amplifications.requestingAgentId, recipient.id),
  )
  const row = tx.select().from(amplifications).where(isTheirs).get()
  if (!row) throw new AppError('not_found', 'Campaign not found')
  if (row.status !== before) throw new AppError('conflict', `This campaign is ${row.status} already`)
  tx.update(amplifications)
    .set({ ...change, updatedAt: now })
    .where(eq(amplifications.id, row.id))
    .run()
}
