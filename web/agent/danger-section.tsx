import { useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { useDeleteAgent } from '../agents/agent-changes.ts'
import { AskDialog } from '../ui/ask-dialog.tsx'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Section } from '../ui/section.tsx'

/** What cannot be undone, at the end of the settings; the name of the agent must be typed first. */
export function DangerSection({ agent }: { agent: WebAgent }) {
  const [isAsking, setAsking] = useState(false)
  return (
    <Section
      title="Delete the agent"
      tone="danger"
      lead="It is ended, and its files, its memory and its conversations are removed for good. What it has cost stays in your records."
    >
      <Button className="justify-self-start" onClick={() => setAsking(true)}>
        <Trash2 aria-hidden className="size-4" />
        Delete {agent.name}…
      </Button>
      {isAsking && <DeleteQuestion agent={agent} onClose={() => setAsking(false)} />}
    </Section>
  )
}

function DeleteQuestion({ agent, onClose }: { agent: WebAgent; onClose: () => void }) {
  const navigate = useNavigate()
  const removal = useDeleteAgent(agent.id)
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<string | undefined>(undefined)
  const confirm = () => {
    // Enter in the field sends it too, and the button alone knows that it has been pressed.
    if (removal.isPending) return
    if (typed.trim() !== agent.name) return setError(`This is not its name: ${agent.name}`)
    removal.mutate(undefined, { onSuccess: () => void navigate({ to: '/agents' }) })
  }
  return (
    <AskDialog
      title={`Delete ${agent.name} for good?`}
      lead="Nobody can bring it back but from a backup of the server."
      verb="Delete agent"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={confirm}
      onClose={onClose}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          confirm()
        }}
      >
        <TextField
          label={`Type ${agent.name} to confirm`}
          value={typed}
          error={error}
          autoComplete="off"
          spellCheck={false}
          autoFocus
          onChange={({ target }) => {
            setTyped(target.value)
            setError(undefined)
          }}
        />
      </form>
    </AskDialog>
  )
}
