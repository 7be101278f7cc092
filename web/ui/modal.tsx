import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useEffect, useId, useLayoutEffect, useRef } from 'react'
import { createPortal } from 'react-dom'
import { Button } from './button.tsx'
import { ErrorNotice } from './notice.tsx'

type ModalProps = {
  role?: 'dialog' | 'alertdialog'
  labelledBy?: string
  label?: string
  describedBy?: string
  className: string
  /** A click on the backdrop closes it too. */
  isLight?: boolean
  onClose: () => void
  /** Moves the focus when the previously focused element may be gone. */
  onCloseFocus?: ((event: Event) => void) | undefined
  children: ReactNode
}

/** Uses the native dialog: the page below is inert, Escape closes it, and the focus returns to where it was. */
export function Modal({ role = 'dialog', className, isLight = false, onClose, onCloseFocus, ...rest }: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null)
  useShownAsModal(ref, onCloseFocus)
  return createPortal(
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape is the keyboard equivalent of a backdrop click
    <dialog
      ref={ref}
      role={role}
      aria-labelledby={rest.labelledBy}
      aria-label={rest.label}
      aria-describedby={rest.describedBy}
      onCancel={(event) => {
        if (event.target !== event.currentTarget) return
        event.preventDefault()
        onClose()
      }}
      // A browser closes the dialog itself when it is cancelled twice.
      onClose={(event) => event.target === event.currentTarget && onClose()}
      onClick={(event) => isLight && event.target === event.currentTarget && onClose()}
      className={`m-auto max-h-[calc(100dvh-2rem)] w-[calc(100%-2rem)] overflow-y-auto rounded-xl border border-line bg-surface text-ink shadow-lifted backdrop:bg-[#0a120ecc]/60 ${className}`}
    >
      {rest.children}
    </dialog>,
    document.body,
  )
}

function useShownAsModal(
  ref: React.RefObject<HTMLDialogElement | null>,
  onCloseFocus: ModalProps['onCloseFocus'],
): void {
  const afterwards = useRef(onCloseFocus)
  useEffect(() => {
    afterwards.current = onCloseFocus
  })
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    // showModal focuses the first focusable element, which may be a wrapper around the input.
    dialog?.querySelector<HTMLElement>('[data-autofocus]')?.focus()
    return () => {
      dialog?.close()
      const moveFocus = afterwards.current
      // Waits until the dialog's changes to the page are rendered.
      if (moveFocus) setTimeout(() => moveFocus(new Event('close', { cancelable: true })))
    }
  }, [ref])
}

type ConfirmDialogProps = {
  title: string
  lead: ReactNode
  verb: string
  look?: 'danger' | 'primary'
  children?: ReactNode
  /** The dialog closes when it resolves, and shows its error when it rejects. */
  run?: () => Promise<unknown>
  /** Replaces `run` when the caller keeps the state of the action. */
  onConfirm?: () => void
  isPending?: boolean
  error?: unknown
  onClose: () => void
  /** Moves the focus; by default to the page title if the previously focused element is gone. */
  onCloseFocus?: ((event: Event) => void) | undefined
}

function focusHeadingIfLost(): void {
  if (document.activeElement === document.body) document.querySelector('h1')?.focus()
}

export function ConfirmDialog({ title, lead, verb, look = 'danger', children, run, ...rest }: ConfirmDialogProps) {
  const id = useId()
  const action = useMutation({ mutationFn: async () => run?.(), onSuccess: rest.onClose })
  return (
    <Modal
      role="alertdialog"
      labelledBy={`${id}-title`}
      describedBy={`${id}-lead`}
      onClose={rest.onClose}
      onCloseFocus={rest.onCloseFocus ?? focusHeadingIfLost}
      className="grid max-w-md gap-4 p-5"
    >
      <h2 id={`${id}-title`} className="text-lg font-semibold break-words">
        {title}
      </h2>
      <p id={`${id}-lead`} className="text-muted">
        {lead}
      </p>
      {children}
      <ErrorNotice error={rest.error ?? action.error} />
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={rest.onClose}>Cancel</Button>
        <Button
          look={look}
          isPending={rest.isPending ?? action.isPending}
          onClick={rest.onConfirm ?? (() => action.mutate())}
        >
          {verb}
        </Button>
      </div>
    </Modal>
  )
}
