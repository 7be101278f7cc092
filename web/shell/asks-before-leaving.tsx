import { useBlocker } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { FORM_REFUSED } from '../ui/form.tsx'

/** Asks for confirmation when a page or tab with unsaved input is left. */
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
  // A closed form no longer counts.
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
