import { and, desc, eq, inArray, isNotNull } from 'drizzle-orm'
import type { LiveStream, RadioProvider } from '../../../adapters/media/radio.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import type { LiveDj, OwnStream } from './schemas.ts'
import { type RadioStreamRow, radioStreams } from './tables.ts'

/** Everybody may ask who is live; the provider is asked once in this time. */
const CACHE_MS = 5000

/** Who is on the air. Everybody who asks at once waits for the same answer; a failure is not kept. */
export function createLiveList(deps: { db: Db; clock: Clock; radio: Pick<RadioProvider, 'listLive'> }) {
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

/** A user's own streams, newest first. */
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
