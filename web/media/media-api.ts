import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { Feed, FeedList } from '../../src/features/web-tools/feeds/schemas.ts'
import {
  CreatedStream,
  type CreateStreamRequest,
  DeletedStream,
  LiveDjList,
  OwnStreamList,
} from '../../src/features/web-tools/radio/schemas.ts'
import {
  FinishedVideo,
  type GenerateVideoRequest,
  type OwnVideo,
  OwnVideoList,
  PendingVideo,
} from '../../src/features/web-tools/video/schemas.ts'
import { ApiError, api, inPath, request, within } from '../api/request.ts'

/** Streaming providers can take this long. */
const LONG_MS = 40_000

export const feedsQuery = queryOptions({
  queryKey: ['feeds'],
  queryFn: async ({ signal }) => (await request(FeedList, api.GET('/api/feeds', { signal }))).feeds,
})

/** @throws ApiError; for a feed that requires payment with its own message. */
export function feedQuery(feed: string, isSample: boolean) {
  return queryOptions({
    queryKey: ['feeds', feed, isSample],
    queryFn: async ({ signal }) => {
      const query = { feed, preview: isSample ? 'true' : undefined }
      try {
        return await request(Feed, api.GET('/api/feeds', { params: { query }, signal }))
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 402) throw error
        throw new ApiError(402, 'This feed requires a payment, which the dashboard cannot make.')
      }
    },
  })
}

export const liveQuery = queryOptions({
  queryKey: ['radio', 'live'],
  queryFn: async ({ signal }) =>
    (await request(LiveDjList, api.GET('/api/radio/live', { signal, fetch: within(LONG_MS) }))).djs,
  refetchInterval: 20_000,
})

export const ownStreamsQuery = queryOptions({
  queryKey: ['radio', 'streams'],
  queryFn: async ({ signal }) => (await request(OwnStreamList, api.GET('/api/radio/streams', { signal }))).streams,
  refetchInterval: 20_000,
})

export function createStream(body: z.input<typeof CreateStreamRequest>) {
  return request(CreatedStream, api.POST('/api/radio/streams', { body, fetch: within(LONG_MS) }))
}

export function deleteStream(id: string) {
  return request(DeletedStream, api.DELETE('/api/radio/streams/{id}', { ...inPath({ id }), fetch: within(LONG_MS) }))
}

/** Polls while a video is being generated. */
export const videosQuery = queryOptions({
  queryKey: ['videos'],
  queryFn: ({ signal }) => request(OwnVideoList, api.GET('/api/videos', { signal })),
  refetchInterval: ({ state }) => (state.data?.videos.some(isVideoUnderWay) ? 2_000 : 30_000),
})

export function isVideoUnderWay({ status }: Pick<OwnVideo, 'status'>): boolean {
  return status === 'queued' || status === 'processing'
}

/** Does not wait for the video; the list shows its progress. */
export function orderVideo(body: z.input<typeof GenerateVideoRequest>) {
  const headers = { prefer: 'respond-async' }
  return request(z.union([PendingVideo, FinishedVideo]), api.POST('/api/generate-video', { body, headers }))
}
