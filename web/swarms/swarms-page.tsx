import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { idOf, type Swarm } from '../../src/features/conversations/swarms/schemas.ts'
import { Pages } from '../admin/paging.tsx'
import { agentsQuery } from '../agents/agents-api.ts'
import { FieldMark } from '../agents/field-mark.tsx'
import { Badge } from '../ui/badge.tsx'
import { buttonClass } from '../ui/button.tsx'
import { Empty, Section } from '../ui/panel.tsx'
import { SwarmsFrame } from './loaded-swarm.tsx'
import { SwarmForm } from './swarm-form.tsx'
import { createSwarm, swarmsQuery } from './team-api.ts'

/** Page `/team/swarms`. */
export function SwarmsPage() {
  const query = useInfiniteQuery(swarmsQuery)
  const create = (
    <Link to="/team/swarms/new" className={buttonClass('primary')}>
      <Plus aria-hidden className="size-4" />
      New swarm
    </Link>
  )
  const hasSome = query.data?.pages.some(({ swarms }) => swarms.length > 0)
  return (
    <SwarmsFrame
      title="Swarms"
      lead="Groups of agents that work on the same task. Each agent answers, and one can summarize."
      actions={hasSome && create}
    >
      <Pages
        query={query}
        what="swarms"
        itemsOf={({ swarms }) => swarms}
        empty={
          <Empty title="No swarms yet">
            <p>
              Group two or more agents, give them one task and compare their answers: three opinions on a text, or a
              plan and its critic.
            </p>
            {create}
          </Empty>
        }
      >
        {(swarm) => <SwarmRow key={swarm.id} swarm={swarm} />}
      </Pages>
    </SwarmsFrame>
  )
}

function SwarmRow({ swarm }: { swarm: Swarm }) {
  const agents = useQuery(agentsQuery).data
  const nameOf = (id: string) => agents?.find((agent) => agent.id === id)?.name ?? id
  const ids = swarm.agents.map(idOf)
  return (
    <li className="relative flex flex-wrap items-center gap-x-4 gap-y-2 px-3 py-3 hover:bg-sunken sm:px-4">
      <div className="grid min-w-0 flex-1 basis-52 grid-cols-1 gap-0.5">
        <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <Link
            to="/team/swarms/$swarmId"
            params={{ swarmId: swarm.id }}
            className="min-w-0 font-medium break-words after:absolute after:inset-0"
          >
            {swarm.name}
          </Link>
          {!swarm.enabled && <Badge tone="warning">Disabled</Badge>}
        </p>
        <p className="text-sm wrap-anywhere text-muted">
          {swarm.description || (ids.length === 0 ? 'This swarm has no members yet' : ids.map(nameOf).join(', '))}
        </p>
      </div>
      <div aria-hidden className="flex gap-1">
        {ids.map((id) => (
          <FieldMark key={id} seed={id} className="size-6" />
        ))}
      </div>
    </li>
  )
}

/** Page `/team/swarms/new`. */
export function NewSwarmPage() {
  const navigate = useNavigate()
  return (
    <SwarmsFrame title="New swarm" lead="Agents that work on the same task.">
      <Section
        title="Members"
        lead="Each agent receives the task as a message with its role and answers in its own conversation."
      >
        <SwarmForm
          swarm={null}
          save={async (wish) => {
            const { id } = await createSwarm(wish)
            await navigate({ to: '/team/swarms/$swarmId', params: { swarmId: id } })
          }}
        />
      </Section>
    </SwarmsFrame>
  )
}
