import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { Inbox } from '../../src/features/conversations/inbox/schemas.ts'
import {
  type ChangeSwarmRequest,
  type CreateSwarmRequest,
  Swarm,
  SwarmList,
  SwarmRun,
  SwarmRunList,
} from '../../src/features/conversations/swarms/schemas.ts'
import { FleetGraph } from '../../src/features/monitoring/mission-control/schemas.ts'
import { queryClient, refresh } from '../api/query-client.ts'
import { api, inPath, request } from '../api/request.ts'

const SWARMS_KEY = ['swarms']
const PAGE = 30

export const swarmsQuery = infiniteQueryOptions({
  queryKey: [...SWARMS_KEY, 'list'],
  queryFn: ({ signal, pageParam }) =>
    request(SwarmList, api.GET('/api/swarms', { params: { query: toPage(pageParam) }, signal })),
  initialPageParam: null as string | null,
  getNextPageParam: ({ swarms, hasMore }) => (hasMore ? (swarms.at(-1)?.id ?? null) : null),
})

export function swarmQuery(id: string) {
  return queryOptions({
    queryKey: [...SWARMS_KEY, id],
    queryFn: ({ signal }) => request(Swarm, api.GET('/api/swarms/{id}', { ...inPath({ id }), signal })),
  })
}

export function createSwarm(body: z.input<typeof CreateSwarmRequest>) {
  return readAnew(request(Swarm, api.POST('/api/swarms', { body })))
}

export function changeSwarm(id: string, body: z.input<typeof ChangeSwarmRequest>) {
  return readAnew(request(Swarm, api.PATCH('/api/swarms/{id}', { ...inPath({ id }), body })))
}

/** Removes its queries, so that it is not requested again. */
export async function deleteSwarm(id: string): Promise<void> {
  await request(z.object({ success: z.literal(true) }), api.DELETE('/api/swarms/{id}', inPath({ id })))
  queryClient.removeQueries({ queryKey: swarmQuery(id).queryKey })
  await refresh(swarmsQuery)
}

/** Polls while a run is in progress. */
export function swarmRunsQuery(swarmId: string) {
  return infiniteQueryOptions({
    queryKey: [...SWARMS_KEY, swarmId, 'runs'],
    queryFn: ({ signal, pageParam }) =>
      request(
        SwarmRunList,
        api.GET('/api/swarms/{id}/runs', { params: { path: { id: swarmId }, query: toPage(pageParam) }, signal }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ runs, hasMore }) => (hasMore ? (runs.at(-1)?.id ?? null) : null),
    refetchInterval: ({ state }) => (state.data?.pages[0]?.runs.some(isSwarmRunUnderWay) ? 2_000 : 30_000),
  })
}

/** Final once it is not running. */
export function runQuery(swarmId: string, runId: string) {
  return queryOptions({
    queryKey: [...SWARMS_KEY, swarmId, 'runs', runId],
    queryFn: ({ signal }) =>
      request(SwarmRun, api.GET('/api/swarms/{id}/runs/{runId}', { ...inPath({ id: swarmId, runId }), signal })),
    refetchInterval: ({ state }) => (state.data && !isSwarmRunUnderWay(state.data) ? false : 1_000),
  })
}

export function isSwarmRunUnderWay({ state }: Pick<SwarmRun, 'state'>): boolean {
  return state === 'running'
}

export function startRun(swarmId: string, task: string) {
  return readAnew(request(SwarmRun, api.POST('/api/swarms/{id}/run', { ...inPath({ id: swarmId }), body: { task } })))
}

/** Cancels queued answers and interrupts running ones. */
export async function cancelRun(swarmId: string, runId: string): Promise<void> {
  const run = await request(SwarmRun, api.POST('/api/swarms/{id}/runs/{runId}/cancel', inPath({ id: swarmId, runId })))
  queryClient.setQueryData(runQuery(swarmId, runId).queryKey, run)
}

export const graphQuery = queryOptions({
  queryKey: ['fleet-graph'],
  queryFn: ({ signal }) => request(FleetGraph, api.GET('/api/mission-control/fleet/graph', { signal })),
  refetchInterval: 10_000,
})

export function inboxQuery(agentId: string | undefined) {
  return infiniteQueryOptions({
    queryKey: ['inbox', agentId ?? ''],
    queryFn: ({ signal, pageParam }) => {
      const query = { ...toPage(pageParam), agentId }
      return request(Inbox, api.GET('/api/inbox', { params: { query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ messages, hasMore }) => (hasMore ? (messages.at(-1)?.id ?? null) : null),
    refetchInterval: 15_000,
  })
}

async function readAnew<T>(done: Promise<T>): Promise<T> {
  const result = await done
  await refresh({ queryKey: SWARMS_KEY })
  return result
}

function toPage(before: string | null) {
  return { limit: PAGE, before: before ?? undefined }
}
