import type { ReactNode } from 'react'
import { Page } from '../shell/page.tsx'
import { Tabs } from '../ui/tabs.tsx'

const places = [
  { to: '/team/swarms', label: 'Swarms', hasInner: true },
  { to: '/team/map', label: 'Map' },
  { to: '/team/inbox', label: 'Inbox' },
] as const

type TeamFrameProps = { title: string; lead: ReactNode; actions?: ReactNode; children: ReactNode }

export function TeamFrame({ title, lead, actions, children }: TeamFrameProps) {
  return (
    <Page title={title} lead={lead} actions={actions}>
      <div className="flex">
        <Tabs label="Swarms" places={places} />
      </div>
      {children}
    </Page>
  )
}
