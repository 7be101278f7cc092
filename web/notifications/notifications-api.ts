import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import {
  type ChangeNoticeSettings,
  ChannelTest,
  type CreateChannelRequest,
  CreatedChannel,
  NoticeChannelList,
  NoticeList,
  NoticeSettings,
} from '../../src/features/accounts/notifications/schemas.ts'
import { PauseState } from '../../src/features/ai/breakers/schemas.ts'
import { api, inPath, request, within } from '../api/request.ts'

export const notificationsQuery = infiniteQueryOptions({
  queryKey: ['notices'],
  queryFn: ({ pageParam, signal }) => {
    const query = { limit: 20, before: pageParam ?? undefined }
    return request(NoticeList, api.GET('/api/notices', { params: { query }, signal }))
  },
  initialPageParam: null as number | null,
  getNextPageParam: ({ next }) => next,
})

export const noticeSettingsQuery = queryOptions({
  queryKey: ['notices', 'settings'],
  queryFn: ({ signal }) => request(NoticeSettings, api.GET('/api/notices/settings', { signal })),
})

export const noticeChannelsQuery = queryOptions({
  queryKey: ['notices', 'channels'],
  queryFn: async ({ signal }) =>
    (await request(NoticeChannelList, api.GET('/api/notices/channels', { signal }))).channels,
})

export const pauseQuery = queryOptions({
  queryKey: ['pause'],
  queryFn: ({ signal }) => request(PauseState, api.GET('/api/pause', { signal })),
})

export function setPause(paused: boolean) {
  return request(PauseState, api.PUT('/api/pause', { body: { paused } }))
}

export function changeNoticeSettings(body: ChangeNoticeSettings) {
  return request(NoticeSettings, api.PUT('/api/notices/settings', { body }))
}

/** Resolves once a test message was delivered. @throws ApiError with the service's error. */
export function createChannel(body: z.input<typeof CreateChannelRequest>) {
  return request(CreatedChannel, api.POST('/api/notices/channels', { body, fetch: within(30_000) }))
}

/** `mail` is the account's own address. */
export function testChannel(id: string) {
  return request(
    ChannelTest,
    api.POST('/api/notices/channels/{id}/test', { ...inPath({ id }), body: {}, fetch: within(30_000) }),
  )
}

export function deleteChannel(id: string) {
  return request(z.object({ success: z.literal(true) }), api.DELETE('/api/notices/channels/{id}', inPath({ id })))
}
