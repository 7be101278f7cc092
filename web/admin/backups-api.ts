import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { BackupOrdered, BackupOverview } from '../../src/features/house/backups/schemas.ts'
import { request } from '../api/request.ts'

const PATH = '/api/admin/backups'
const KEY = ['admin', 'backups']
const WHILE_UNDER_WAY_MS = 1000
const ELSE_MS = 30_000

/** What backups there are and how the last ones went, read again while something is under way. */
export const backupsQuery = queryOptions({
  queryKey: KEY,
  queryFn: ({ signal }) => request(BackupOverview, PATH, { signal }),
  refetchInterval: ({ state }) => (state.data?.runs[0]?.finishedAt === null ? WHILE_UNDER_WAY_MS : ELSE_MS),
})

/** Something to be done: a new backup, or something with one of this name. */
export type Order =
  | { kind: 'backup' }
  | { kind: 'verify' | 'drill'; name: string }
  | { kind: 'restore'; name: string; agentId: string; replace: boolean }

/** Orders it, and reads the list anew, which tells how it goes. */
export async function orderBackup(client: QueryClient, order: Order): Promise<void> {
  const path = order.kind === 'backup' ? PATH : `${toPath(order.name)}/${order.kind}`
  const body = order.kind === 'restore' ? { agentId: order.agentId, replace: order.replace } : {}
  await request(BackupOrdered, path, { method: 'POST', body })
  await client.invalidateQueries({ queryKey: KEY })
}

export function toDownload(name: string): string {
  return `${toPath(name)}/download`
}

function toPath(name: string): string {
  return `${PATH}/${encodeURIComponent(name)}`
}
