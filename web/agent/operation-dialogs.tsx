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

export function UpdateDialog({ agent, onConfirm, ...on }: OperationDialogProps) {
  const [image, setImage] = useState('')
  const wanted = image.trim()
  return (
    <AskDialog
      title={`Update ${agent.name}?`}
      lead="A snapshot is saved first. If the new version does not become healthy, the agent is rolled back."
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
        hint="Leave empty for the latest version."
      />
    </AskDialog>
  )
}

export function ReturnDialog({ agent, image, onConfirm, ...on }: OperationDialogProps & { image: string }) {
  return (
    <AskDialog
      title={`Roll back to ${image}?`}
      lead={`Stops ${agent.name}, saves a snapshot, and starts it on that image with its current data.`}
      verb="Roll back"
      look="primary"
      isPending={false}
      error={null}
      onConfirm={() => onConfirm({ verb: 'update', image })}
      {...on}
    />
  )
}

export function RepairDialog({ agent, onConfirm, ...on }: OperationDialogProps) {
  return (
    <AskDialog
      title={`Repair ${agent.name}?`}
      lead="Stops the agent immediately, repairs its files and starts it again. The current turn is lost; memory and conversations are kept."
      verb="Repair"
      look="primary"
      isPending={false}
      error={null}
      onConfirm={() => onConfirm({ verb: 'repair' })}
      {...on}
    />
  )
}

export function ResetMemoryDialog({ agent, onConfirm, ...on }: OperationDialogProps) {
  return (
    <AskDialog
      title={`Reset the memory of ${agent.name}?`}
      lead="Deletes everything the agent remembers and restarts it. Chat history stays readable. A snapshot is saved first."
      verb="Reset memory"
      isPending={false}
      error={null}
      onConfirm={() => onConfirm({ verb: 'reset-memory' })}
      {...on}
    />
  )
}
