import type { ReactNode } from 'react'
import { Brand } from '../shell/brand.tsx'
import { usePageTitle } from '../shell/page.tsx'
import { PasswordField, TextField } from '../ui/field.tsx'

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

type Plot = { shape: string; fill: string; angle: number }

/** Drawn by hand in a 600 × 800 box. */
const plots: Plot[] = [
  { shape: '0,0 214,0 178,226 0,196', fill: 'fill-(--plot-a)', angle: 12 },
  { shape: '214,0 430,0 404,168 190,150', fill: 'fill-(--plot-c)', angle: 96 },
  { shape: '430,0 600,0 600,232 388,270', fill: 'fill-(--plot-b)', angle: -24 },
  { shape: '0,196 178,226 150,418 0,392', fill: 'fill-(--plot-d)', angle: 84 },
  { shape: '190,150 404,168 372,372 160,352', fill: 'fill-(--plot-b)', angle: 8 },
  { shape: '388,270 600,232 600,470 352,500', fill: 'fill-(--plot-e)', angle: 62 },
  { shape: '0,392 150,418 126,606 0,640', fill: 'fill-(--plot-b)', angle: -40 },
  { shape: '160,352 372,372 340,590 126,606', fill: 'fill-(--plot-a)', angle: 52 },
  { shape: '352,500 600,470 600,668 326,684', fill: 'fill-(--plot-c)', angle: 4 },
  { shape: '0,640 126,606 340,590 316,800 0,800', fill: 'fill-(--plot-e)', angle: 18 },
  { shape: '326,684 600,668 600,800 316,800', fill: 'fill-(--plot-d)', angle: 70 },
]

const furrows = Array.from({ length: 90 }, (_, row) => `M-500 ${row * 18 - 400}h1600`).join('')

export function FieldsPicture() {
  return (
    <svg
      viewBox="6 6 588 788"
      preserveAspectRatio="xMidYMid slice"
      aria-hidden="true"
      className="absolute inset-0 size-full dark:opacity-60"
    >
      {plots.map((plot, index) => (
        <g key={plot.shape}>
          <clipPath id={`plot-${index}`}>
            <polygon points={plot.shape} />
          </clipPath>
          <g clipPath={`url(#plot-${index})`}>
            <polygon points={plot.shape} className={plot.fill} />
            <path d={furrows} transform={`rotate(${plot.angle} 300 400)`} className="stroke-white/20" strokeWidth="3" />
          </g>
          <polygon points={plot.shape} className="fill-none stroke-sunken" strokeWidth="9" strokeLinejoin="round" />
        </g>
      ))}
      <g transform="translate(372 372)">
        <circle r="62" className="fill-sunken" />
        <g className="fill-none stroke-accent" strokeWidth="6" strokeLinecap="round" strokeLinejoin="round">
          <path d="M-27 1 0-23 27 1" />
          <path d="M-17 15h34" />
          <path d="M-17 30h34" opacity=".6" />
        </g>
      </g>
    </svg>
  )
}

/** Hidden from people; bots that fill every field reveal themselves. */
export function Honeypot() {
  return (
    <div aria-hidden="true" className="absolute -left-[9999px] size-px overflow-hidden">
      <input type="text" name="website" tabIndex={-1} autoComplete="off" defaultValue="" />
    </div>
  )
}

export function IdentityFields() {
  return (
    <>
      <TextField label="Name" name="name" autoComplete="name" maxLength={100} hint="Optional. Only you can see it." />
      <TextField label="Email" name="email" type="email" autoComplete="username" />
      <PasswordField label="Password" name="password" autoComplete="new-password" hint="At least 8 characters." />
    </>
  )
}
