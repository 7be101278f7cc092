import { AlertDialog } from 'radix-ui'
import type { ReactNode } from 'react'
import { messageFor } from '../api/request.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'

type AskDialogProps = {
  title: string
  /** What will happen, in one or two sentences. */
  lead: ReactNode
  /** The word on the button that does it. */
  verb: string
  look?: 'danger' | 'primary'
  /** Fields that belong to the question. */
  children?: ReactNode
  isPending: boolean
  error: unknown
  onConfirm: () => void
  onClose: () => void
  /** Where the focus goes afterwards, when what was focused before may be gone. */
  onCloseFocus?: (event: Event) => void
}

/** For `onCloseFocus`, when what was focused before has gone with its row: the title of the page gets the focus. */
export function focusHeading(event: Event): void {
  event.preventDefault()
  document.querySelector('h1')?.focus()
}

/** Asks before something that cannot be undone. Its backdrop is our own: Radix' overlay injects a style element. */
export function AskDialog({ title, lead, verb, look = 'danger', children, isPending, error, ...on }: AskDialogProps) {
  return (
    <AlertDialog.Root open onOpenChange={(isOpen) => isOpen || on.onClose()}>
      <AlertDialog.Portal>
        <div aria-hidden className="fixed inset-0 z-40 bg-[#0a120ecc]/60" />
        <AlertDialog.Content
          {...(on.onCloseFocus ? { onCloseAutoFocus: on.onCloseFocus } : {})}
          className="fixed top-1/2 left-1/2 z-50 grid w-[calc(100%-2rem)] max-w-md -translate-1/2 gap-4 rounded-xl border border-line bg-surface p-5 shadow-lifted"
        >
          <AlertDialog.Title className="text-lg font-semibold break-words">{title}</AlertDialog.Title>
          <AlertDialog.Description className="text-muted">{lead}</AlertDialog.Description>
          {children}
          {error !== null && <Notice tone="problem">{messageFor(error)}</Notice>}
          <div className="flex flex-wrap justify-end gap-2">
            <AlertDialog.Cancel asChild>
              <Button>Cancel</Button>
            </AlertDialog.Cancel>
            <Button look={look} isPending={isPending} onClick={on.onConfirm}>
              {verb}
            </Button>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
