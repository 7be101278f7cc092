import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { ChatSession } from '../../src/features/conversations/chat/schemas.ts'
import { messageFor } from '../api/request.ts'
import { FormButtons } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { TextArea } from '../ui/text-area.tsx'
import { instructSession, renameSession } from './sessions-api.ts'

type SessionFormProps = { session: ChatSession; onClose: () => Promise<void> }

export function RenameForm({ session, onClose }: SessionFormProps) {
  const [title, setTitle] = useState(session.title ?? '')
  const renaming = useMutation({ mutationFn: () => renameSession(session.id, title.trim()), onSuccess: onClose })
  return (
    <form
      className="grid grid-cols-1 gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        if (title.trim() !== '') renaming.mutate()
      }}
    >
      <TextField
        label="Conversation title"
        autoFocus
        maxLength={100}
        value={title}
        error={renaming.error ? messageFor(renaming.error) : undefined}
        onChange={(event) => setTitle(event.target.value)}
      />
      <FormButtons verb="Save title" isPending={renaming.isPending} onCancel={() => void onClose()} />
    </form>
  )
}

export function InstructionsForm({ session, onClose }: SessionFormProps) {
  const [text, setText] = useState(session.instructions ?? '')
  const saving = useMutation({ mutationFn: () => instructSession(session.id, text), onSuccess: onClose })
  return (
    <form
      className="grid grid-cols-1 gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        saving.mutate()
      }}
    >
      <TextArea
        label="Instructions for this conversation"
        placeholder="Added to every turn of this conversation only."
        look="prose"
        rows={4}
        autoFocus
        maxLength={8000}
        value={text}
        error={saving.error ? messageFor(saving.error) : undefined}
        onChange={(event) => setText(event.target.value)}
      />
      <FormButtons verb="Save instructions" isPending={saving.isPending} onCancel={() => void onClose()} />
    </form>
  )
}
