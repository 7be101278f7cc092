import { type ReactNode, useEffect, useLayoutEffect, useRef } from 'react'
import { createPortal } from 'react-dom'

type ModalProps = {
  role?: 'dialog' | 'alertdialog'
  /** The id of its title, or its name in words. */
  labelledBy?: string
  label?: string
  describedBy?: string
  className: string
  /** Pressing beside it closes it too. */
  isLight?: boolean
  onClose: () => void
  /** Where the focus goes afterwards, when what was focused before may be gone. */
  onCloseFocus?: ((event: Event) => void) | undefined
  children: ReactNode
}

/**
 * What stands above the page until it is answered: the browser's own dialog, so that the page below is out of reach for
 * the keyboard and for screen readers, Escape closes it, and the focus returns to where it was.
 */
export function Modal({ role = 'dialog', className, isLight = false, onClose, onCloseFocus, ...rest }: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null)
  useShownAsModal(ref, onCloseFocus)
  return createPortal(
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape is the key for what a press beside the dialog does
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
      // A browser closes by itself what is cancelled twice.
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
    // showModal focuses the first element that can take focus, which may be a frame around the field meant for typing.
    dialog?.querySelector<HTMLElement>('[data-autofocus]')?.focus()
    return () => {
      dialog?.close()
      const moveFocus = afterwards.current
      // What the dialog has done to the page below is drawn first.
      if (moveFocus) setTimeout(() => moveFocus(new Event('close', { cancelable: true })))
    }
  }, [ref])
}
