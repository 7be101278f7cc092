import { ArrowUp, Square } from 'lucide-react'
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import type { ChatAttachment, ChatMessage } from '../../src/features/conversations/chat/schemas.ts'
import { Button, FormButtons } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { AttachButton, FileChips, type useAttachments, useDroppedFiles } from './attachments.tsx'
import type { useDraft } from './draft.ts'

type ComposerProps = {
  draft: ReturnType<typeof useDraft>
  attachments: ReturnType<typeof useAttachments>
  isBusy: boolean
  blocked: ReactNode
  /** Why the last message was not sent; its text is back in the draft. */
  refusal: string | null
  onSend: (text: string, attachments: readonly ChatAttachment[]) => void
  onStop: () => void
}

/** Enter sends, Shift+Enter breaks the line; `blocked` says why sending is impossible. */
export function Composer({ draft, attachments, isBusy, blocked, refusal, onSend, onStop }: ComposerProps) {
  const { text, change } = draft
  const areaRef = useGrowingArea(text)
  // On a phone, focusing would cover the conversation with the keyboard.
  useEffect(() => {
    if (matchMedia('(pointer: fine)').matches) areaRef.current?.focus()
  }, [areaRef])
  const canAttach = !blocked && !attachments.isUploading
  const canSend = !isBusy && !blocked && !attachments.isUploading && text.trim() !== ''

  const send = () => {
    if (!canSend) return
    onSend(text.trim(), attachments.files)
    change('')
    attachments.clear()
    areaRef.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  const attach = (files: File[]) => {
    if (canAttach) attachments.add(files)
  }
  useDroppedFiles(attach)
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files]
    if (files.length === 0) return
    event.preventDefault()
    attach(files)
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
      className="mx-auto grid w-full max-w-3xl grid-cols-1 gap-2 px-4 pt-2 pb-4 sm:px-8"
    >
      {blocked && (
        <div id="composer-blocked" className="text-sm text-muted">
          {blocked}
        </div>
      )}
      {refusal && (
        <Notice tone="problem" title="Message not sent">
          {refusal}
        </Notice>
      )}
      {(attachments.problem || attachments.isUploading) && (
        <p role="status" className="text-sm text-muted">
          {attachments.isUploading ? 'Uploading…' : attachments.problem}
        </p>
      )}
      {attachments.files.length > 0 && <FileChips files={attachments.files} onRemove={attachments.remove} />}
      <div className="flex items-end gap-2 rounded-xl border border-edge bg-surface p-1.5 has-focus-visible:outline-2 has-focus-visible:outline-accent has-[textarea:disabled]:border-line has-[textarea:disabled]:bg-sunken">
        <AttachButton isDisabled={!canAttach} onChoose={attachments.add} />
        <textarea
          ref={areaRef}
          rows={1}
          aria-label="Message"
          aria-describedby={blocked ? 'composer-blocked' : undefined}
          placeholder={blocked ? '' : 'Write a message'}
          maxLength={100_000}
          disabled={Boolean(blocked)}
          value={text}
          onChange={(event) => change(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
          className="min-h-9 flex-1 resize-none bg-transparent px-2 py-1.5 text-base outline-none placeholder:text-muted sm:text-[0.9375rem]"
        />
        <SendOrStop isBusy={isBusy} canSend={canSend} onStop={onStop} />
      </div>
    </form>
  )
}

function SendOrStop({ isBusy, canSend, onStop }: { isBusy: boolean; canSend: boolean; onStop: () => void }) {
  if (isBusy) {
    return (
      <Button aria-label="Stop reply" onClick={onStop}>
        <Square aria-hidden className="size-3.5 fill-current" />
        Stop
      </Button>
    )
  }
  return (
    <Button Icon={ArrowUp} type="submit" look="primary" disabled={!canSend}>
      Send
    </Button>
  )
}

const maxHeightPx = 220

function useGrowingArea(text: string) {
  const areaRef = useRef<HTMLTextAreaElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height depends on the text
  useLayoutEffect(() => {
    const area = areaRef.current
    if (!area) return
    area.style.height = 'auto'
    area.style.height = `${Math.min(area.scrollHeight, maxHeightPx)}px`
    area.style.overflowY = area.scrollHeight > maxHeightPx ? 'auto' : 'hidden'
  }, [text])
  return areaRef
}

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
