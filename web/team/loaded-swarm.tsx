import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Swarm } from '../../src/features/conversations/swarms/schemas.ts'
import { LoadingRows } from '../admin/paging.tsx'
import { ApiError } from '../api/request.ts'
import { buttonClass } from '../ui/button.tsx'
import { Empty } from '../ui/empty.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { swarmQuery } from './team-api.ts'
import { TeamFrame } from './team-frame.tsx'

type LoadedSwarmProps = { swarmId: string; children: (swarm: Swarm) => ReactNode }

export function LoadedSwarm({ swarmId, children }: LoadedSwarmProps) {
  const query = useQuery(swarmQuery(swarmId))
  const swarm = query.data
  if (isMissing(query.error)) return <Missing what="swarm" />
  return (
    <TeamFrame title={swarm?.name ?? 'Swarm'} lead={swarm?.description ?? ''}>
      <Loaded query={query} what="swarm" placeholder={<LoadingRows what="swarm" />}>
        {children}
      </Loaded>
    </TeamFrame>
  )
}

export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404
}

export function Missing({ what }: { what: 'swarm' | 'run' }) {
  return (
    <TeamFrame title={what === 'swarm' ? 'Swarm not found' : 'Run not found'} lead="">
      <Empty>
        <p>It was deleted, or you do not have access.</p>
        <Link to="/team/swarms" className={buttonClass('plain')}>
          All swarms
        </Link>
      </Empty>
    </TeamFrame>
  )
}
