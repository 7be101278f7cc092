import { useQuery } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { z } from 'zod'
import { sessionQuery } from '../account/session.ts'
import { Page } from '../shell/page.tsx'
import { Notice } from '../ui/notice.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { UpdateAvailable } from './update-notice.tsx'

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
      {/* In a line of their own, so that they stay where they are whatever the title. */}
      <div className="flex">
        <Tabs label="Admin" places={places} />
      </div>
      <UpdateAvailable />
      {children}
    </Page>
  )
}
