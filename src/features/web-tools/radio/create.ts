import { and, eq, lt } from 'drizzle-orm'
import { INGEST_URL, type NewLiveStream, type RadioProvider } from '../../../adapters/media/radio.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { wallets } from '../../accounts/sign-in/tables.ts'
import type { TokenGate } from '../../accounts/social-identity/gate.ts'
import type { CreateStreamRequest } from './schemas.ts'
import { type RadioStreamRow, radioStreams } from './tables.ts'

const MAX_STREAMS = 5
/** Longer than the provider may take: what is still being made then was cut short by a crash. */
const ABANDONED_AFTER_MS = 10 * 60_000
/** ERC-20 tokens are counted in 10^-18 unless they say otherwise; so is the smallest balance in the settings. */
const TOKEN_DECIMALS = 18
const UNNAMED = 'Anonymous DJ'

export type RadioDeps = { db: Db; clock: Clock; radio: RadioProvider; tokenGate: TokenGate }

/**
 * Makes a live stream for the holder of a wallet that is the user's own and holds enough of the token. The key is in the
 * answer and nowhere else.
 * @throws AppError `unavailable` NOT_CONFIGURED, `forbidden` when the wallet is not the user's or holds too little,
 * `limited` at five streams, and what the provider and the chain throw.
 */
export async function createStream(deps: RadioDeps, userId: string, request: CreateStreamRequest) {
  deps.radio.requireConfigured()
  await requireAccess(deps, userId, request.wallet)
  const row = await write(deps.db, (tx) => reserve(tx, deps.clock.now(), userId, request))
  const stream = await deps.radio.create().catch(async (error: unknown) => {
    await write(deps.db, (tx) => tx.delete(radioStreams).where(eq(radioStreams.id, row.id)).run())
    throw error
  })
  const change = { providerId: stream.id, playbackId: stream.playbackId, status: 'created' } as const
  await write(deps.db, (tx) => tx.update(radioStreams).set(change).where(eq(radioStreams.id, row.id)).run())
  return toAnswer(row, stream)
}

async function requireAccess({ db, tokenGate }: RadioDeps, userId: string, wallet: `0x${string}`): Promise<void> {
  const isOwn = and(eq(wallets.userId, userId), eq(wallets.address, wallet))
  if (!db.select({ address: wallets.address }).from(wallets).where(isOwn).get()) {
    throw await refusal(tokenGate, 'The wallet is not one that you signed in with')
  }
  if (!(await tokenGate.isOpenFor(wallet))) throw await refusal(tokenGate, 'The wallet does not hold enough')
}

async function refusal({ terms }: TokenGate, reason: string): Promise<AppError> {
  const { formatUnits } = await import('viem')
  const [whole = '', fraction] = formatUnits(BigInt(terms.minBalance), TOKEN_DECIMALS).split('.')
  const amount = `${BigInt(whole).toLocaleString('en-US')}${fraction ? `.${fraction}` : ''}`
  const text = `Insufficient ${terms.token} tokens. Need ${amount} ${terms.token} for DJ access.`
  return new AppError('forbidden', text, { reason })
}

/** Takes a place among the user's streams before the provider is asked. */
function reserve(tx: Tx, now: Date, userId: string, { wallet, name }: CreateStreamRequest): RadioStreamRow {
  const isAbandoned = and(
    eq(radioStreams.userId, userId),
    eq(radioStreams.status, 'creating'),
    lt(radioStreams.createdAt, new Date(now.getTime() - ABANDONED_AFTER_MS)),
  )
  tx.delete(radioStreams).where(isAbandoned).run()
  const current = countRows(tx, radioStreams, eq(radioStreams.userId, userId))
  requireQuota({ current, limit: MAX_STREAMS, message: `Stream limit reached (max ${MAX_STREAMS})`, extra: {} })
  // No event of the provider is older than this, whatever its clock says.
  const statusAt = new Date(0)
  const stream = { id: newId('radio'), userId, wallet, name: name || UNNAMED, createdAt: now }
  const row = { ...stream, status: 'creating', statusAt } as const
  return tx.insert(radioStreams).values(row).returning().get()
}

function toAnswer({ name, wallet }: RadioStreamRow, { id, streamKey, playbackId }: NewLiveStream) {
  const fullRtmpUrl = `${INGEST_URL}/${streamKey}`
  return {
    success: true,
    stream: { id, name, wallet, streamKey, rtmpUrl: INGEST_URL, fullRtmpUrl, playbackId, status: 'created' },
    obsSettings: {
      server: INGEST_URL,
      streamKey,
      recommended: { audioBitrate: '256-320 kbps', encoder: 'AAC', sampleRate: '44.1 kHz', channels: 'Stereo' },
    },
  }
}
