import { type ReactNode, useId } from 'react'
import { messageFor } from '../api/request.ts'
import { Button } from './button.tsx'
import { Modal } from './modal.tsx'
import { Notice } from './notice.tsx'

type AskDialogProps = {
  title: string
  lead: ReactNode
  verb: string
  look?: 'danger' | 'primary'
  children?: ReactNode
  isPending: boolean
  error: unknown
  onConfirm: () => void
  onClose: () => void
  /** Moves the focus when the previously focused element may be gone. */
  onCloseFocus?: (event: Event) => void
}

/** For `onCloseFocus`: focuses the page title when the previously focused row is gone. */
export function focusHeading(event: Event): void {
  event.preventDefault()
  document.querySelector('h1')?.focus()
}

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
