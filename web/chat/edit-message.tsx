import { type KeyboardEvent, useEffect, useState } from 'react'
import type { ChatMessage } from '../../src/features/conversations/chat/schemas.ts'
import { FormButtons } from '../ui/button.tsx'
import { useGrowingArea } from './growing-area.ts'

type EditMessageProps = { message: ChatMessage; onSend: (text: string) => void; onClose: () => void }

/** Edits a message in place. Escape cancels. */
export function EditMessage({ message, onSend, onClose }: EditMessageProps) {
  const [text, setText] = useState(message.content)
  const areaRef = useGrowingArea(text)
  useEffect(() => areaRef.current?.focus(), [areaRef])
  const send = () => text.trim() !== '' && onSend(text.trim())
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    if (event.key === 'Escape') onClose()
    if (event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    send()
  }
  return (
    <form
      className="grid grid-cols-1 gap-2 rounded-xl border border-edge bg-surface p-3"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <textarea
        ref={areaRef}
        rows={2}
        aria-label="Edit your message"
        maxLength={100_000}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        className="resize-none bg-transparent px-1 text-base outline-none sm:text-[0.9375rem]"
      />
      <p className="px-1 text-xs text-muted">Sending replaces this message and removes everything after it.</p>
      <FormButtons verb="Send" isDisabled={text.trim() === ''} onCancel={onClose} />
    </form>
  )
}
