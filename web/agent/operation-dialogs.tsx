import { useState } from 'react'
import { AskDialog } from '../ui/ask-dialog.tsx'
import { TextField } from '../ui/field.tsx'
import type { Operation } from './agent-api.ts'

type OperationDialogProps = {
  agent: { name: string }
  onConfirm: (operation: Operation) => void
  onClose: () => void
  onCloseFocus: (event: Event) => void
}

/** Asks for the image to update to; none means the newest of the server. */
export function UpdateDialog({ agent, onConfirm, ...on }: OperationDialogProps) {
  const [image, setImage] = useState('')
  const wanted = image.trim()
  return (
    <AskDialog
      title={`Update ${agent.name}?`}
      lead="A snapshot is kept first. When the new version does not become healthy, the agent goes back to the one it runs on now."
      verb="Update"
      look="primary"
      isPending={false}
      error={null}
      onConfirm={() => onConfirm({ verb: 'update', ...(wanted && { image: wanted }) })}
      {...on}
    >
      <TextField
        label="Image"
        value={image}
        onChange={(event) => setImage(event.target.value)}
        placeholder="registry/name:tag"
        autoCapitalize="none"
        autoComplete="off"
        spellCheck={false}
        hint="Leave it empty for the newest version this server offers."
      />
    </AskDialog>
  )
}

/** Says what going back to an image means, and asks. */
export function ReturnDialog({ agent, image, onConfirm, ...on }: OperationDialogProps & { image: string }) {
  return (
    <AskDialog
      title={`Go back to ${image}?`}
      lead={`${agent.name} is stopped, a snapshot is kept, and it starts on that image with what it has stored now.`}
      verb="Go back"
      look="primary"
      isPending={false}
      error={null}
      onConfirm={() => onConfirm({ verb: 'update', image })}
      {...on}
    />
  )
}

/** Says what a repair does, and asks. */
export function RepairDialog({ agent, onConfirm, ...on }: OperationDialogProps) {
  return (
    <AskDialog
      title={`Repair ${agent.name}?`}
      lead="It is ended at once, a turn under way is lost, its program mends its own files, and it starts again. Memory and conversations stay."
      verb="Repair"
      look="primary"
      isPending={false}
      error={null}
      onConfirm={() => onConfirm({ verb: 'repair' })}
      {...on}
    />
  )
}

/** Asks before an agent forgets. */
export function ResetMemoryDialog({ agent, onConfirm, ...on }: OperationDialogProps) {
  return (
    <AskDialog
      title={`Reset the memory of ${agent.name}?`}
      lead="It forgets every conversation and everything it has remembered, and starts anew; what was said stays readable in the chat. A snapshot of what it has stored is kept on the server first."
      verb="Reset memory"
      isPending={false}
      error={null}
      onConfirm={() => onConfirm({ verb: 'reset-memory' })}
      {...on}
    />
  )
}
