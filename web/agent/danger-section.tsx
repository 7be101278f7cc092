import { useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { DeleteDialog } from '../agents/delete-dialog.tsx'
import { Button } from '../ui/button.tsx'
import { Section } from '../ui/section.tsx'

export function DangerSection({ agent }: { agent: WebAgent }) {
  const navigate = useNavigate()
  const [isAsking, setAsking] = useState(false)
  return (
    <Section
      title="Delete agent"
      tone="danger"
      lead="Stops the agent and permanently deletes its files, memory and conversations. Cost records are kept."
    >
      <Button className="justify-self-start" onClick={() => setAsking(true)}>
        <Trash2 aria-hidden className="size-4" />
        Delete {agent.name}…
      </Button>
      {isAsking && (
        <DeleteDialog
          agent={agent}
          onClose={() => setAsking(false)}
          onDeleted={() => void navigate({ to: '/agents' })}
        />
      )}
    </Section>
  )
}
