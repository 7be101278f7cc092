import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Section } from '../ui/section.tsx'
import { SwarmForm } from './swarm-form.tsx'
import { createSwarm } from './team-api.ts'
import { TeamFrame } from './team-frame.tsx'

/** Page `/team/swarms/new`. */
export function NewSwarmPage() {
  const client = useQueryClient()
  const navigate = useNavigate()
  return (
    <TeamFrame title="New swarm" lead="Agents that work on the same task.">
      <Section
        title="Members"
        lead="Each agent receives the task as a message with its role and answers in its own conversation."
      >
        <SwarmForm
          swarm={null}
          save={async (wish) => {
            const { id } = await createSwarm(client, wish)
            await navigate({ to: '/team/swarms/$swarmId', params: { swarmId: id } })
          }}
        />
      </Section>
    </TeamFrame>
  )
}
