import { useNavigate } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useState } from 'react'
import { listKeyedPlaces } from '../shell/places.ts'

/** Time in ms for the second key after `g`. */
const PAIR_MS = 1_500
const KEY = 'stead-single-keys'

/** The dialog over the page. */
type Sheet = 'palette' | 'shortcuts'

/** Single-key shortcuts can be turned off for dictation or tremor. */
export function areSingleKeysOn(): boolean {
  return localStorage.getItem(KEY) !== 'off'
}

export function turnSingleKeys(isOn: boolean): void {
  if (isOn) localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, 'off')
}

export const controlKey = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl'

/** Handles the keys that work on every page. */
export function useKeys(isAdmin: boolean) {
  const [sheet, setSheet] = useState<Sheet | null>(null)
  const navigate = useNavigate()
  const press = useEffectEvent((key: string, isSecond: boolean): boolean => {
    const place = isSecond && listKeyedPlaces(isAdmin).find((each) => each.key === key)
    if (place) void navigate({ to: place.to })
    else if (key === '?') setSheet('shortcuts')
    else if (key === '/') return focusSearch()
    else return false
    return true
  })
  const open = useEffectEvent((next: Sheet) => setSheet(next))
  useEffect(() => {
    let pairUntil = 0
    const onKeyDown = (event: KeyboardEvent) => {
      if (document.querySelector('dialog:modal')) return
      if ((event.metaKey || event.ctrlKey) && !event.altKey && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        return open('palette')
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target) || !areSingleKeysOn()) return
      const isSecond = event.timeStamp < pairUntil
      pairUntil = event.key === 'g' && !isSecond ? event.timeStamp + PAIR_MS : 0
      if (press(event.key, isSecond)) event.preventDefault()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
  return { sheet, setSheet }
}

/** Focuses the first search field of the page. @returns false when there is none. */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]')
  field?.focus()
  field?.select()
  return field !== null
}

/** Letters belong to the focused field or menu. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input, textarea, select, [role="menu"], [role="listbox"]') !== null)
  )
}
