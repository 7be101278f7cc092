import { type SyntheticEvent, useState } from 'react'
import { AskDialog } from '../ui/ask-dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { useDeleteAgent } from './agent-changes.ts'

type DeleteDialogProps = {
  agent: { id: string; name: string }
  onClose: () => void
  onDeleted: () => void
  onCloseFocus?: (event: Event) => void
}

export function DeleteDialog({ agent, onClose, onDeleted, onCloseFocus }: DeleteDialogProps) {
  const removal = useDeleteAgent(agent.id)
  const [typed, setTyped] = useState('')
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const confirm = () => {
    // Enter submits the form too, also while the request is running.
    if (removal.isPending) return
    if (typed.trim() !== agent.name.trim()) return setProblem(`Enter the exact name: ${agent.name}`)
    removal.mutate(undefined, { onSuccess: onDeleted })
  }
  const onSubmit = (event: SyntheticEvent) => {
    event.preventDefault()
    confirm()
  }
  return (
    <AskDialog
      title={`Delete ${agent.name}?`}
      lead="Stops the agent and permanently deletes its files, memory and conversations. Cost records are kept."
      verb="Delete agent"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={confirm}
      onClose={onClose}
      {...(onCloseFocus && { onCloseFocus })}
    >
      <form onSubmit={onSubmit}>
        <TextField
          label={`Type ${agent.name} to confirm`}
          value={typed}
          error={problem}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
          onChange={({ target }) => {
            setTyped(target.value)
            setProblem(undefined)
          }}
        />
      </form>
    </AskDialog>
  )
}
