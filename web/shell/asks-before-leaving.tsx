import { useBlocker } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { FORM_REFUSED } from '../ui/form.ts'

/** Around the forms of a page: whoever leaves it, or its tab, with something typed that was not saved is asked first. */
export function AsksBeforeLeaving({ className, children }: { className: string; children: ReactNode }) {
  const pageRef = useRef<HTMLDivElement>(null)
  const typedIn = useRef(new Set<HTMLFormElement>())
  useEffect(() => {
    const page = pageRef.current
    const forms = typedIn.current
    const note = ({ type, target }: Event) => {
      const form = target instanceof HTMLElement ? target.closest('form') : null
      if (!form) return
      if (type === 'input' || type === FORM_REFUSED) forms.add(form)
      else forms.delete(form)
    }
    const types = ['input', 'submit', 'reset', FORM_REFUSED]
    for (const type of types) page?.addEventListener(type, note)
    return () => {
      for (const type of types) page?.removeEventListener(type, note)
    }
  }, [])
  // A form that was closed is given up already.
  const isUnsaved = () => [...typedIn.current].some((form) => form.isConnected)
  useBlocker({
    shouldBlockFn: () => isUnsaved() && !window.confirm('Discard unsaved changes?'),
    enableBeforeUnload: isUnsaved,
  })
  return (
    <div ref={pageRef} className={className}>
      {children}
    </div>
  )
}
