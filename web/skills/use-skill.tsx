import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import type { MarketplaceSkill } from '../../src/features/payments/skills/schemas.ts'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { TextArea } from '../ui/field.tsx'
import { runSkill } from './skills-api.ts'

/** Skills with actions take JSON as described in their file. */
export function UseSkill({ skill }: { skill: MarketplaceSkill }) {
  const [text, setText] = useState(skill.hasActions ? exampleOf(skill.id) : '')
  const call = useMutation({ mutationFn: (body: Record<string, unknown>) => runSkill(skill.id, body) })
  const submit = () => {
    if (!skill.hasActions) return call.mutate({ input: text })
    const body = parse(text)
    if (body !== null) call.mutate(body)
  }
  const isBroken = skill.hasActions && parse(text) === null
  return (
    <form
      className="grid grid-cols-1 gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <TextArea
        label={skill.hasActions ? 'Request (JSON)' : 'Input'}
        value={text}
        error={isBroken ? 'Invalid JSON.' : undefined}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Button
        type="submit"
        look="primary"
        className="justify-self-start"
        isPending={call.isPending}
        disabled={isBroken}
      >
        Run
      </Button>
      {call.error !== null && <Notice tone="problem">{messageFor(call.error)}</Notice>}
      {call.data && <Answer answer={call.data} />}
    </form>
  )
}

function Answer({ answer }: { answer: Record<string, unknown> }) {
  const { output, imageUrl, prompt } = answer
  if (typeof imageUrl === 'string') {
    return <img src={imageUrl} alt={String(prompt)} className="max-h-96 w-full rounded-md border border-line" />
  }
  return (
    <pre role="status" className="wrap-anywhere rounded-md bg-sunken p-3 text-sm whitespace-pre-wrap">
      {typeof output === 'string' ? output : JSON.stringify(answer, null, 2)}
    </pre>
  )
}

/** Read-only example calls. */
const EXAMPLES: Readonly<Record<string, object>> = {
  'event-scheduler': { action: 'upcoming' },
  'venue-finder': { action: 'search', city: 'Berlin' },
  'festival-finder': { action: 'search', genre: 'techno' },
  'setlist-oracle': { action: 'build', genre: 'house', duration: 60 },
  'visual-synthesizer': { prompt: 'A lighthouse at night', aspectRatio: '16:9' },
  'booking-settlement': { action: 'simulate_settlement', booking: { guarantee: 500, backend: 200, deposit: 100 } },
  'instant-split': { action: 'simulate', streams: 100_000, rate: '0.003' },
}

function exampleOf(name: string): string {
  return JSON.stringify(EXAMPLES[name] ?? { action: 'list' }, null, 2)
}

/** Returns null for anything but an object. */
function parse(text: string): Record<string, unknown> | null {
  try {
    return z.record(z.string(), z.unknown()).nullable().catch(null).parse(JSON.parse(text))
  } catch {
    return null
  }
}
