import { type ReactNode, useId } from 'react'
import { messageFor } from '../api/request.ts'
import { Button } from './button.tsx'
import { Modal } from './modal.tsx'
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

/** Asks before something that cannot be undone. */
export function AskDialog({ title, lead, verb, look = 'danger', children, isPending, error, ...on }: AskDialogProps) {
  const id = useId()
  return (
    <Modal
      role="alertdialog"
      labelledBy={`${id}-title`}
      describedBy={`${id}-lead`}
      onClose={on.onClose}
      onCloseFocus={on.onCloseFocus}
      className="grid max-w-md gap-4 p-5"
    >
      <h2 id={`${id}-title`} className="text-lg font-semibold break-words">
        {title}
      </h2>
      <p id={`${id}-lead`} className="text-muted">
        {lead}
      </p>
      {children}
      {error !== null && <Notice tone="problem">{messageFor(error)}</Notice>}
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={on.onClose}>Cancel</Button>
        <Button look={look} isPending={isPending} onClick={on.onConfirm}>
          {verb}
        </Button>
      </div>
    </Modal>
  )
}
