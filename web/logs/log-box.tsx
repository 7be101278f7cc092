import type { ReactNode, Ref, UIEventHandler } from 'react'

type LogBoxProps = {
  label: string
  boxRef?: Ref<HTMLDivElement>
  onScroll?: UIEventHandler<HTMLDivElement>
  isBusy?: boolean
  children: ReactNode
}

/** A box of log lines that scrolls by itself. Nothing is read out: a log would never stop talking. */
export function LogBox({ label, boxRef, onScroll, isBusy = false, children }: LogBoxProps) {
  return (
    <div
      ref={boxRef}
      role="log"
      aria-live="off"
      aria-label={label}
      aria-busy={isBusy}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      onScroll={onScroll}
      className="min-h-0 flex-1 overflow-y-auto overscroll-contain bg-surface py-2 font-mono text-[0.8125rem] leading-5 -outline-offset-2 [overflow-anchor:none]"
    >
      {children}
    </div>
  )
}
