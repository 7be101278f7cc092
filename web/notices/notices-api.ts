import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { PauseState } from '../../src/features/models/breakers/schemas.ts'
import {
  type ChangeNoticeSettings,
  ChannelTest,
  type CreateChannelRequest,
  CreatedChannel,
  NoticeChannelList,
  NoticeList,
  NoticeSettings,
} from '../../src/features/people/notices/schemas.ts'
import { request } from '../api/request.ts'

const PATH = '/api/notices'

/** What the caller was told, newest first. */
export const noticesQuery = infiniteQueryOptions({
  queryKey: ['notices'],
  queryFn: ({ pageParam, signal }) =>
    request(NoticeList, pageParam === null ? `${PATH}?limit=20` : `${PATH}?limit=20&before=${pageParam}`, { signal }),
  initialPageParam: null as number | null,
  getNextPageParam: ({ next }) => next,
})

export const noticeSettingsQuery = queryOptions({
  queryKey: ['notices', 'settings'],
  queryFn: ({ signal }) => request(NoticeSettings, `${PATH}/settings`, { signal }),
})

export const noticeChannelsQuery = queryOptions({
  queryKey: ['notices', 'channels'],
  queryFn: async ({ signal }) => (await request(NoticeChannelList, `${PATH}/channels`, { signal })).channels,
})

/** Whether all of the caller's agents are kept from models. */
export const pauseQuery = queryOptions({
  queryKey: ['pause'],
  queryFn: ({ signal }) => request(PauseState, '/api/pause', { signal }),
})

export function setPause(paused: boolean) {
  return request(PauseState, '/api/pause', { method: 'PUT', body: { paused } })
}

export function changeNoticeSettings(body: ChangeNoticeSettings) {
  return request(NoticeSettings, `${PATH}/settings`, { method: 'PUT', body })
}

/** Returns once a first message got through. @throws ApiError with what the service said. */
export function createChannel(body: z.input<typeof CreateChannelRequest>) {
  return request(CreatedChannel, `${PATH}/channels`, { method: 'POST', body, timeoutMs: 30_000 })
}

/** Sends a test there; `mail` is the address of the account. */
export function testChannel(id: string) {
  return request(ChannelTest, `${PATH}/channels/${id}/test`, { method: 'POST', body: {}, timeoutMs: 30_000 })
}

export function deleteChannel(id: string) {
  return request(z.object({ success: z.literal(true) }), `${PATH}/channels/${id}`, { method: 'DELETE' })
}
