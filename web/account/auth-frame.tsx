import type { ReactNode } from 'react'
import { Brand } from '../shell/brand.tsx'
import { usePageTitle } from '../shell/page.tsx'
import { FieldsPicture } from './fields-picture.tsx'

export function AuthFrame({ title, lead, children }: { title: string; lead: ReactNode; children: ReactNode }) {
  usePageTitle(title)
  return (
    <div className="grid min-h-dvh lg:grid-cols-[minmax(0,1fr)_minmax(0,1.1fr)]">
      <main className="mx-auto flex w-full max-w-sm flex-col justify-center gap-6 px-5 py-10">
        <Brand />
        <div className="mt-2 grid gap-1">
          <h1 className="text-2xl font-semibold">{title}</h1>
          <p className="text-muted">{lead}</p>
        </div>
        {children}
      </main>
      <aside aria-hidden="true" className="relative hidden overflow-hidden bg-sunken lg:block">
        <FieldsPicture />
      </aside>
    </div>
  )
}
