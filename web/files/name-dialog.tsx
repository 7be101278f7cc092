import { useState } from 'react'
import { AskDialog } from '../ui/ask-dialog.tsx'
import { TextField } from '../ui/field.tsx'

type NameDialogProps = {
  title: string
  lead: string
  verb: string
  initial: string
  onConfirm: (path: string) => void
  onClose: () => void
}

export function NameDialog({ title, lead, verb, initial, onConfirm, onClose }: NameDialogProps) {
  const [path, setPath] = useState(initial)
  const [error, setError] = useState<string | undefined>(undefined)
  const confirm = () => {
    const name = path.trim().split('/').filter(Boolean).join('/')
    if (name === '') return setError('This field is required.')
    onConfirm(name)
    onClose()
  }
  return (
    <AskDialog
      title={title}
      lead={lead}
      verb={verb}
      look="primary"
      isPending={false}
      error={null}
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
          label="Path"
          value={path}
          error={error}
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
          autoFocus
          onChange={({ target }) => setPath(target.value)}
        />
      </form>
    </AskDialog>
  )
}
