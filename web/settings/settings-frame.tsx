import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Settings } from '../../src/features/accounts/settings/schemas.ts'
import { Page } from '../shell/page.tsx'
import { Loaded, LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { settingsQuery } from './settings-api.ts'

const places = [
  { to: '/settings', label: 'Profile' },
  { to: '/settings/security', label: 'Security' },
  { to: '/settings/notices', label: 'Notifications' },
  { to: '/settings/keys', label: 'API keys' },
  { to: '/settings/wallets', label: 'Wallets' },
  { to: '/settings/machines', label: 'Machines' },
  { to: '/settings/account', label: 'Account' },
  { to: '/billing', label: 'Billing' },
] as const

export function SettingsFrame({ title, lead, children }: { title: string; lead: string; children: ReactNode }) {
  return (
    <Page title={title} lead={lead}>
      {/* On a separate line, so that they keep their place whatever the title. */}
      <div className="flex">
        <Tabs label="Settings" places={places} />
      </div>
      {children}
    </Page>
  )
}

export function WithSettings({ children }: { children: (settings: Settings) => ReactNode }) {
  const query = useQuery(settingsQuery)
  return (
    <Loaded
      query={query}
      what="settings"
      placeholder={
        <LoadingShapes what="settings" className="grid gap-6">
          <Skeleton className="h-44 rounded-xl" />
          <Skeleton className="h-44 rounded-xl" />
        </LoadingShapes>
      }
    >
      {children}
    </Loaded>
  )
}
