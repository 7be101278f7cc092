import { and, eq, lte } from 'drizzle-orm'
import type { Tx } from '../../../db/open.ts'
import { radioStreams } from './tables.ts'

/** What the provider says happened; `data.id` is a live stream's or an asset's, as `type` says. */
export type StreamEvent = {
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

/** Brings the row of a stream up to date; an event about anything else changes nothing, nor does an old one that comes late. */
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
