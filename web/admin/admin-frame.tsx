import { queryOptions, useQuery } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { z } from 'zod'
import { UpdateNotice } from '../../src/features/admin/updates/schemas.ts'
import { sessionQuery } from '../account/session.ts'
import { api, request } from '../api/request.ts'
import { Page } from '../shell/page.tsx'
import { Notice } from '../ui/notice.tsx'
import { Tabs } from '../ui/tabs.tsx'

const places = [
  { to: '/admin/users', label: 'Users' },
  { to: '/admin/invites', label: 'Invitations' },
  { to: '/admin/plans', label: 'Plans' },
  { to: '/admin/agents', label: 'Agents' },
  { to: '/admin/health', label: 'Health' },
  { to: '/admin/jobs', label: 'Jobs' },
  { to: '/admin/dead-letters', label: 'Dead letters' },
  { to: '/admin/backups', label: 'Backups' },
  { to: '/admin/settings', label: 'Settings' },
  { to: '/admin/logs', label: 'Logs' },
  { to: '/admin/audit', label: 'Audit log' },
  { to: '/admin/services', label: 'Services' },
  { to: '/admin/cluster', label: 'Cluster' },
] as const

export const UserSearch = z.object({ search: z.coerce.string().max(254).optional().catch(undefined) })

export const LogSearch = z.object({
  search: z.coerce.string().max(200).optional().catch(undefined),
  level: z.enum(['debug', 'info', 'warn', 'error']).optional().catch(undefined),
})

/** Renders `/admin/…` for administrators and a notice for everyone else. */
export function AdminOnly() {
  const isAdmin = useQuery(sessionQuery).data?.user?.isAdmin
  if (isAdmin) return <Outlet />
  return (
    <Page title="Admins only">
      <Notice tone="note" title="Administrators only">
        Administrators are set by ADMIN_EMAILS or with stead user set-admin.
      </Notice>
    </Page>
  )
}

export function AdminFrame({ title, lead, children }: { title: string; lead: string; children: ReactNode }) {
  return (
    <Page title={title} lead={lead}>
      {/* On a separate line, so that they keep their place whatever the title. */}
      <div className="flex">
        <Tabs label="Admin" places={places} />
      </div>
      <UpdateAvailable />
      {children}
    </Page>
  )
}

const updateQuery = queryOptions({
  queryKey: ['admin', 'update'],
  queryFn: ({ signal }) => request(UpdateNotice, api.GET('/api/admin/update', { signal })),
  staleTime: 3_600_000,
})

function UpdateAvailable() {
  const update = useQuery(updateQuery).data
  if (!update?.isNewer) return null
  return (
    <Notice tone="note" title={`Stead ${update.latest} is available`}>
      <p>
        Current version: {update.current}.{' '}
        {update.url && (
          <a href={update.url} target="_blank" rel="noreferrer" className="underline">
            Release notes
          </a>
        )}
      </p>
    </Notice>
  )
}
