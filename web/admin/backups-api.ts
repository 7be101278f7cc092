import { queryOptions } from '@tanstack/react-query'
import { BackupOrdered, BackupOverview } from '../../src/features/admin/backups/schemas.ts'
import { queryClient, refresh } from '../api/query-client.ts'
import { api, request, within } from '../api/request.ts'

const PATH = '/api/admin/backups'
const KEY = ['admin', 'backups']
const WHILE_UNDER_WAY_MS = 1000
/** Testing a remote location can take this long. */
const TEST_MS = 40_000
const ELSE_MS = 30_000

/** Polls while a backup job is running. */
export const backupsQuery = queryOptions({
  queryKey: KEY,
  queryFn: ({ signal }) => request(BackupOverview, api.GET('/api/admin/backups', { signal })),
  refetchInterval: ({ state }) => (state.data?.runs[0]?.finishedAt === null ? WHILE_UNDER_WAY_MS : ELSE_MS),
})

type Order =
  | { kind: 'backup' }
  | { kind: 'verify' | 'drill'; name: string }
  | { kind: 'restore'; name: string; agentId: string; replace: boolean }

export async function orderBackup(order: Order): Promise<void> {
  await request(BackupOrdered, sendOrder(order))
  await refresh({ queryKey: KEY })
}

/** A null value restores the default. */
export async function setBackups(body: {
  schedule?: string | null
  to?: string | null
  keep?: string | null
}): Promise<void> {
  queryClient.setQueryData(
    KEY,
    await request(BackupOverview, api.PUT('/api/admin/backups', { body, fetch: within(TEST_MS) })),
  )
}

function sendOrder(order: Order) {
  if (order.kind === 'backup') return api.POST('/api/admin/backups')
  const params = { path: { name: order.name } }
  if (order.kind !== 'restore') return api.POST(`/api/admin/backups/{name}/${order.kind}`, { params })
  const { agentId, replace } = order
  return api.POST('/api/admin/backups/{name}/restore', { params, body: { agentId, replace } })
}

export function toDownload(name: string): string {
  return `${toPath(name)}/download`
}

function toPath(name: string): string {
  return `${PATH}/${encodeURIComponent(name)}`
}
