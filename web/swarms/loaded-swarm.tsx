import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { RunAnswer, RunLine, Swarm } from '../../src/features/conversations/swarms/schemas.ts'
import { LoadingRows } from '../admin/paging.tsx'
import { ApiError } from '../api/request.ts'
import { Page } from '../shell/page.tsx'
import { Badge } from '../ui/badge.tsx'
import { buttonClass } from '../ui/button.tsx'
import { Loaded } from '../ui/notice.tsx'
import { Empty } from '../ui/panel.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { swarmQuery } from './team-api.ts'

type LoadedSwarmProps = { swarmId: string; children: (swarm: Swarm) => ReactNode }

export function LoadedSwarm({ swarmId, children }: LoadedSwarmProps) {
  const query = useQuery(swarmQuery(swarmId))
  const swarm = query.data
  if (isMissing(query.error)) return <Missing what="swarm" />
  return (
    <SwarmsFrame title={swarm?.name ?? 'Swarm'} lead={swarm?.description ?? ''}>
      <Loaded query={query} what="swarm" placeholder={<LoadingRows what="swarm" />}>
        {children}
      </Loaded>
    </SwarmsFrame>
  )
}

export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404
}

export function Missing({ what }: { what: 'swarm' | 'run' }) {
  return (
    <SwarmsFrame title={what === 'swarm' ? 'Swarm not found' : 'Run not found'} lead="">
      <Empty>
        <p>It was deleted, or you do not have access.</p>
        <Link to="/team/swarms" className={buttonClass('plain')}>
          All swarms
        </Link>
      </Empty>
    </SwarmsFrame>
  )
}

const places = [
  { to: '/team/swarms', label: 'Swarms', hasInner: true },
  { to: '/team/map', label: 'Map' },
  { to: '/team/inbox', label: 'Inbox' },
] as const

type TeamFrameProps = { title: string; lead: ReactNode; actions?: ReactNode; children: ReactNode }

export function SwarmsFrame({ title, lead, actions, children }: TeamFrameProps) {
  return (
    <Page title={title} lead={lead} actions={actions}>
      <div className="flex">
        <Tabs label="Swarms" places={places} />
      </div>
      {children}
    </Page>
  )
}

const LOOKS = {
  queued: { tone: 'plain', word: 'Queued' },
  running: { tone: 'warning', word: 'Running' },
  completed: { tone: 'good', word: 'Done' },
  partially_failed: { tone: 'warning', word: 'Partly failed' },
  failed: { tone: 'problem', word: 'Failed' },
  cancelled: { tone: 'plain', word: 'Stopped' },
} as const

export function RunStateBadge({ state }: { state: RunLine['state'] | RunAnswer['state'] }) {
  const { tone, word } = LOOKS[state]
  return <Badge tone={tone}>{word}</Badge>
}
