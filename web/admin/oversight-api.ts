import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { CreatedInvite, InviteList } from '../../src/features/accounts/invites/schemas.ts'
import {
  JobList,
  type JobState,
  MailTest,
  OverseenAgentList,
  PlatformHealth,
  RetriedJob,
  SettingsInEffect,
  StoppedAgent,
} from '../../src/features/admin/oversight/schemas.ts'
import { refresh } from '../api/query-client.ts'
import { api, inPath, request, within } from '../api/request.ts'
import type { AllAgentsSearch } from '../routes/searches.ts'

const AGENTS_KEY = ['admin', 'agents']
const JOBS_KEY = ['admin', 'jobs']
const FIRST: string | null = null
/** Mail servers and the container engine can take this long. */
const LONG_MS = 40_000

export function allAgentsQuery({ search = '', status }: AllAgentsSearch) {
  return infiniteQueryOptions({
    queryKey: [...AGENTS_KEY, search, status ?? ''],
    queryFn: ({ signal, pageParam }) => {
      const query = { search, status, after: pageParam ?? undefined }
      return request(OverseenAgentList, api.GET('/api/admin/agents', { params: { query }, signal }))
    },
    initialPageParam: FIRST,
    getNextPageParam: ({ next }) => next,
    refetchInterval: 15_000,
  })
}

export async function stopAnyAgent(id: string): Promise<void> {
  await request(StoppedAgent, api.POST('/api/admin/agents/{id}/stop', { ...inPath({ id }), fetch: within(LONG_MS) }))
  await refresh({ queryKey: AGENTS_KEY })
}

export function jobsQuery(state: JobState) {
  return infiniteQueryOptions({
    queryKey: [...JOBS_KEY, state],
    queryFn: ({ signal, pageParam }) => {
      const query = { state, after: pageParam ?? undefined }
      return request(JobList, api.GET('/api/admin/jobs', { params: { query }, signal }))
    },
    initialPageParam: FIRST,
    getNextPageParam: ({ next }) => next,
    refetchInterval: 15_000,
  })
}

/** Retries a dead job and reloads the lists. */
export async function retryJob(id: string): Promise<void> {
  await request(RetriedJob, api.POST('/api/admin/jobs/{id}/retry', inPath({ id })))
  await refresh({ queryKey: JOBS_KEY })
}

export const healthQuery = queryOptions({
  queryKey: ['admin', 'health'],
  queryFn: ({ signal }) => request(PlatformHealth, api.GET('/api/admin/health', { signal })),
  refetchInterval: 10_000,
})

export function testMail() {
  return request(MailTest, api.POST('/api/admin/mail/test', { fetch: within(LONG_MS) }))
}

/** Constant while the server runs. */
export const settingsInEffectQuery = queryOptions({
  queryKey: ['admin', 'settings'],
  queryFn: async ({ signal }) => (await request(SettingsInEffect, api.GET('/api/admin/settings', { signal }))).settings,
  staleTime: Number.POSITIVE_INFINITY,
})

export const invitesQuery = queryOptions({
  queryKey: ['admin', 'invites'],
  queryFn: ({ signal }) => request(InviteList, api.GET('/api/admin/invites', { signal })),
})

/** An empty `plan` is the default one. */
export function createInvite(plan: string) {
  const body = plan === '' ? {} : { plan }
  return request(CreatedInvite, api.POST('/api/admin/invites', { body }))
}

export function withdrawInvite(id: string) {
  return request(z.object({ success: z.literal(true) }), api.DELETE('/api/admin/invites/{id}', inPath({ id })))
}
