import { AskDialog } from '../ui/ask-dialog.tsx'
import { useDeleteAgent } from './agent-changes.ts'

type DeleteDialogProps = {
  agent: { id: string; name: string }
  onClose: () => void
  onDeleted: () => void
  onCloseFocus: (event: Event) => void
}

/** Asks before an agent is deleted. */
export function DeleteDialog({ agent, onClose, onDeleted, onCloseFocus }: DeleteDialogProps) {
  const removal = useDeleteAgent(agent.id)
  return (
    <AskDialog
      title={`Delete ${agent.name}?`}
      lead="It is ended, and its files and its conversation are removed for good. What it has cost stays in your records."
      verb="Delete agent"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => removal.mutate(undefined, { onSuccess: onDeleted })}
      onClose={onClose}
      onCloseFocus={onCloseFocus}
    />
  )
}
