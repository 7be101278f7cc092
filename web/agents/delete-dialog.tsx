import { AlertDialog } from 'radix-ui'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { useDeleteAgent } from './agent-changes.ts'

type DeleteDialogProps = {
  agent: { id: string; name: string }
  onClose: () => void
  onDeleted: () => void
  onCloseFocus: (event: Event) => void
}

/** Asks before an agent is deleted. Its backdrop is our own: Radix' overlay injects a style element. */
export function DeleteDialog({ agent, onClose, onDeleted, onCloseFocus }: DeleteDialogProps) {
  const removal = useDeleteAgent(agent.id)
  return (
    <AlertDialog.Root open onOpenChange={(isOpen) => isOpen || onClose()}>
      <AlertDialog.Portal>
        <div aria-hidden className="fixed inset-0 z-40 bg-[#0a120ecc]/60" />
        <AlertDialog.Content
          onCloseAutoFocus={onCloseFocus}
          className="fixed top-1/2 left-1/2 z-50 grid w-[calc(100%-2rem)] max-w-md -translate-1/2 gap-4 rounded-xl border border-line bg-surface p-5 shadow-lifted"
        >
          <AlertDialog.Title className="text-lg font-semibold break-words">Delete {agent.name}?</AlertDialog.Title>
          <AlertDialog.Description className="text-muted">
            Its container, its files and its conversation are removed for good. What it has cost stays in your records.
          </AlertDialog.Description>
          {removal.isError && <Notice tone="problem">{messageFor(removal.error)}</Notice>}
          <div className="flex flex-wrap justify-end gap-2">
            <AlertDialog.Cancel asChild>
              <Button>Cancel</Button>
            </AlertDialog.Cancel>
            <Button
              look="danger"
              isPending={removal.isPending}
              onClick={() => removal.mutate(undefined, { onSuccess: onDeleted })}
            >
              Delete agent
            </Button>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
