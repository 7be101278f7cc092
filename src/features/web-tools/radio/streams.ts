import { and, desc, eq, inArray, isNotNull, lt, lte } from 'drizzle-orm'
import { z } from 'zod'
import { INGEST_URL, type LiveStream, type NewLiveStream, type RadioProvider } from '../../../adapters/media/radio.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { wholeList } from '../../../db/personal-data.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import { wallets } from '../../accounts/sign-in/tables.ts'
import type { TokenGate } from '../../accounts/social-identity/gate.ts'
import type { Base } from '../../base.ts'
import type { CreateStreamRequest, LiveDj, OwnStream } from './schemas.ts'
import { type RadioStreamRow, radioStreams } from './tables.ts'

const MAX_STREAMS = 5
/** Exceeds the provider's timeout: an older unfinished row was left by a crash. */
const ABANDONED_AFTER_MS = 10 * 60_000
/** Default number of decimals of an ERC-20 token, also used for the configured minimum balance. */
const TOKEN_DECIMALS = 18
const UNNAMED = 'Anonymous DJ'

/**
 * Creates a live stream for a user whose own wallet holds enough of the token. The stream key is only in the response.
 * @throws AppError `unavailable` NOT_CONFIGURED, `forbidden` when the wallet is not the user's or holds too little,
 * `limited` at five streams, and errors of the provider and the chain.
 */
export async function createStream(
  deps: Base & { radio: RadioProvider; tokenGate: TokenGate },
  userId: string,
  request: CreateStreamRequest,
) {
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

async function requireAccess(
  { db, tokenGate }: { db: Db; tokenGate: TokenGate },
  userId: string,
  wallet: `0x${string}`,
): Promise<void> {
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

/** Reserves one of the user's streams before the provider is called. */
function reserve(tx: Tx, now: Date, userId: string, { wallet, name }: CreateStreamRequest): RadioStreamRow {
  const isAbandoned = and(
    eq(radioStreams.userId, userId),
    eq(radioStreams.status, 'creating'),
    lt(radioStreams.createdAt, new Date(now.getTime() - ABANDONED_AFTER_MS)),
  )
  tx.delete(radioStreams).where(isAbandoned).run()
  const current = countRows(tx, radioStreams, eq(radioStreams.userId, userId))
  requireQuota({ current, limit: MAX_STREAMS, message: `Stream limit reached (max ${MAX_STREAMS})`, extra: {} })
  // Any event of the provider is newer than this time.
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

/** The live list is public, so it queries the provider at most once in this time. */
const CACHE_MS = 5000

/** Lists the users who are live. Concurrent callers share one request; a failure is not cached. */
export function createLiveList(deps: Base & { radio: Pick<RadioProvider, 'listLive'> }) {
  let asked: { at: number; streams: Promise<LiveStream[]> } | null = null
  const listStreams = () => {
    const now = deps.clock.now().getTime()
    if (asked && now - asked.at < CACHE_MS) return asked.streams
    const streams = deps.radio.listLive()
    asked = { at: now, streams }
    streams.catch(() => {
      asked = null
    })
    return streams
  }
  return async (): Promise<LiveDj[]> => {
    const streams = await listStreams()
    const rows = findRows(
      deps.db,
      streams.map(({ id }) => id),
    )
    return streams.map((stream) => toLiveDj(stream, rows.get(stream.id)))
  }
}

/** Lists a user's streams, newest first. */
export function listOwnStreams(db: Db, userId: string): OwnStream[] {
  return db
    .select()
    .from(radioStreams)
    .where(and(eq(radioStreams.userId, userId), isNotNull(radioStreams.providerId)))
    .orderBy(desc(radioStreams.createdAt))
    .all()
    .flatMap(toOwnStream)
}

function findRows(db: Db, ids: string[]): Map<string | null, RadioStreamRow> {
  const rows = db.select().from(radioStreams).where(inArray(radioStreams.providerId, ids)).all()
  return new Map(rows.map((row) => [row.providerId, row]))
}

function toLiveDj({ id, playbackId, createdAt }: LiveStream, row: RadioStreamRow | undefined): LiveDj {
  const startedAt = row?.status === 'active' ? row.statusAt : createdAt
  return {
    id,
    name: row?.name ?? 'Anonymous DJ',
    wallet: row?.wallet ?? null,
    playbackId,
    status: 'active',
    startedAt: startedAt && Math.floor(startedAt.getTime() / 1000),
    ...toUrls(playbackId),
  }
}

function toOwnStream(row: RadioStreamRow): OwnStream[] {
  const { providerId, name, wallet, playbackId, status, createdAt } = row
  if (providerId === null || status === 'creating') return []
  const recording = row.recordingAssetId
    ? { hlsUrl: toUrls(row.recordingPlaybackId).hlsUrl, seconds: row.recordingSeconds }
    : null
  const urls = toUrls(playbackId)
  return [{ id: providerId, name, wallet, playbackId, status, ...urls, recording, createdAt: createdAt.toISOString() }]
}

function toUrls(playbackId: string | null) {
  if (!playbackId) return { hlsUrl: null, embedUrl: null }
  const id = encodeURIComponent(playbackId)
  return { hlsUrl: `https://stream.mux.com/${id}.m3u8`, embedUrl: `https://player.mux.com/${id}` }
}

/**
 * Deletes a stream and its key. The row stays when the provider fails, so the caller can retry.
 * @throws AppError `not_found` for a missing stream or another user's, and errors of the provider.
 */
export async function deleteStream(
  { db, radio }: { db: Db; radio: RadioProvider },
  userId: string,
  id: string,
): Promise<void> {
  radio.requireConfigured()
  const isOwn = and(eq(radioStreams.userId, userId), eq(radioStreams.providerId, id))
  if (!db.select().from(radioStreams).where(isOwn).get()) throw new AppError('not_found', 'Stream not found')
  await radio.remove(id)
  await write(db, (tx) => tx.delete(radioStreams).where(isOwn).run())
}

/** An event of the provider; `data.id` is the id of a live stream or of an asset, depending on `type`. */
type StreamEvent = {
  type: string
  createdAt: Date
  data: {
    id: string
    live_stream_id?: string | undefined
    playback_ids?: { id: string }[] | undefined
    duration?: number | undefined
  }
}

const STATUSES: Readonly<Record<string, 'active' | 'idle'>> = {
  'video.live_stream.active': 'active',
  'video.live_stream.idle': 'idle',
}

/** Updates a stream's row; ignores events about other objects and events older than the stored one. */
export function applyStreamEvent(tx: Tx, { type, createdAt, data }: StreamEvent): void {
  const status = STATUSES[type]
  if (status) {
    const isOlder = and(eq(radioStreams.providerId, data.id), lte(radioStreams.statusAt, createdAt))
    tx.update(radioStreams).set({ status, statusAt: createdAt }).where(isOlder).run()
  }
  if (type === 'video.asset.ready' && data.live_stream_id) {
    const recording = {
      recordingAssetId: data.id,
      recordingPlaybackId: data.playback_ids?.[0]?.id ?? null,
      recordingSeconds: data.duration === undefined ? null : Math.round(data.duration),
    }
    tx.update(radioStreams).set(recording).where(eq(radioStreams.providerId, data.live_stream_id)).run()
  }
}

const ABANDON_JOB = 'radio.abandon'

const StreamJob = z.object({ providerId: z.string() })

/** Deletes a user's streams and queues their deletion at the provider: the keys must not outlive the account. */
export function abandonStreams(tx: Tx, enqueue: Enqueue, userId: string): void {
  const gone = tx.delete(radioStreams).where(eq(radioStreams.userId, userId)).returning().all()
  for (const { providerId } of gone) {
    if (providerId) enqueue(tx, ABANDON_JOB, { providerId }, { key: `radio:${providerId}` })
  }
}

export function abandonStreamJob(deps: { radio: RadioProvider }): JobKind {
  return defineJob({
    kind: ABANDON_JOB,
    payload: StreamJob,
    run: ({ providerId }) => deps.radio.remove(providerId),
  })
}

/** Exports the user's streams. */
export const personalRadioStreams = wholeList('radioStreams', [radioStreams], (db, userId) =>
  db
    .select()
    .from(radioStreams)
    .where(eq(radioStreams.userId, userId))
    .all()
    .map(({ userId: _, ...stream }) => stream),
)
