import { ArrowUp, Square } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Button } from '../ui/button.tsx'

const maxHeightPx = 220

type ComposerProps = {
  /** Whose draft it is: what was begun is there again when one comes back. */
  draftOf: string
  isBusy: boolean
  blocked: ReactNode
  onSend: (text: string) => void
  onStop: () => void
}

/** Where a message is written. Enter sends, Shift and Enter break the line; `blocked` says why nothing can be sent now. */
export function Composer({ draftOf, isBusy, blocked, onSend, onStop }: ComposerProps) {
  const [text, setText] = useDraft(draftOf)
  const areaRef = useGrowingArea(text)
  // With a keyboard at hand one wants to write at once; on a phone the keyboard would cover the conversation.
  useEffect(() => {
    if (matchMedia('(pointer: fine)').matches) areaRef.current?.focus()
  }, [areaRef])
  const canSend = !isBusy && !blocked && text.trim() !== ''

  const send = () => {
    if (!canSend) return
    onSend(text.trim())
    setText('')
    areaRef.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
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
      <div className="flex items-end gap-2 rounded-xl border border-edge bg-surface p-1.5 has-focus-visible:outline-2 has-focus-visible:outline-accent has-[textarea:disabled]:border-line has-[textarea:disabled]:bg-sunken">
        <textarea
          ref={areaRef}
          rows={1}
          aria-label="Message"
          aria-describedby={blocked ? 'composer-blocked' : undefined}
          placeholder={blocked ? '' : 'Write a message'}
          maxLength={100_000}
          disabled={Boolean(blocked)}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          className="min-h-9 flex-1 resize-none bg-transparent px-2 py-1.5 text-base outline-none placeholder:text-muted sm:text-[0.9375rem]"
        />
        {isBusy ? (
          <Button aria-label="Stop the reply" onClick={onStop}>
            <Square aria-hidden className="size-3.5 fill-current" />
            Stop
          </Button>
        ) : (
          <Button type="submit" look="primary" disabled={!canSend}>
            <ArrowUp aria-hidden className="size-4" />
            Send
          </Button>
        )}
      </div>
    </form>
  )
}

/** The text that is being written in a conversation, kept in this browser until it is sent. */
function useDraft(place: string) {
  const key = `stead-draft:${place}`
  const [text, setText] = useState(() => localStorage.getItem(key) ?? '')
  const change = (next: string) => {
    setText(next)
    if (next === '') localStorage.removeItem(key)
    else localStorage.setItem(key, next)
  }
  return [text, change] as const
}

function useGrowingArea(text: string) {
  const areaRef = useRef<HTMLTextAreaElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height depends on the text that is shown
  useLayoutEffect(() => {
    const area = areaRef.current
    if (!area) return
    area.style.height = 'auto'
    area.style.height = `${Math.min(area.scrollHeight, maxHeightPx)}px`
    area.style.overflowY = area.scrollHeight > maxHeightPx ? 'auto' : 'hidden'
  }, [text])
  return areaRef
}
