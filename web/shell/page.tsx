import { type ReactNode, useEffect } from 'react'

export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Stead`
  }, [title])
}

type PageProps = { title: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode }

export function Page({ title, lead, actions, children }: PageProps) {
  usePageTitle(title)
  return (
    <div className="mx-auto grid w-full grid-cols-1 max-w-5xl gap-6 px-4 py-6 sm:px-8 sm:py-10">
      <header className="flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
        <div className="grid min-w-0 grid-cols-1 gap-1 break-words">
          <h1 tabIndex={-1} className="text-2xl font-semibold">
            {title}
          </h1>
          {lead && <p className="text-muted">{lead}</p>}
        </div>
        {actions}
      </header>
      {children}
    </div>
  )
}
