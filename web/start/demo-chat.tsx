import { useMutation, useQuery } from '@tanstack/react-query'
import { ArrowUp } from 'lucide-react'
import { type SyntheticEvent, useEffect, useId, useRef, useState } from 'react'
import { FieldMark } from '../agents/field-mark.tsx'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Notice, Skeleton } from '../ui/notice.tsx'
import { Patience } from '../ui/patience.tsx'
import { askDemo, demoQuery } from './start-api.ts'

type Line = { id: number; who: 'you' | 'model'; text: string; tokens?: number }

const MAX_CHARACTERS = 1_000
const openings = ['Plan a weekend by the sea', 'Explain tides to a child', 'Write a haiku about a lighthouse']

/** Chat with a real model for visitors without an account. Renders nothing when the demo is not configured. */
export function DemoChat() {
  const { data, error } = useQuery(demoQuery)
  const model = data?.models.find(({ available }) => available)
  if (!model && (data || error)) return null
  return (
    <section
      aria-label="Demo"
      className="flex min-h-96 min-w-0 flex-col overflow-hidden rounded-xl border border-line bg-surface shadow-lifted"
    >
      <div className="flex items-center gap-3 border-b border-line px-4 py-3">
        <FieldMark seed="house" className="size-8" />
        <div className="grid min-w-0">
          <h2 className="font-semibold">Try it without an account</h2>
          <p className="truncate text-sm text-muted">
            {model ? `Answers from ${model.name}, within a daily budget` : 'Loading'}
          </p>
        </div>
      </div>
      {model ? <Talk model={model.id} /> : <Skeleton className="m-4 h-40" />}
    </section>
  )
}

function Talk({ model }: { model: string }) {
  const id = useId()
  const [lines, setLines] = useState<Line[]>([])
  const [text, setText] = useState('')
  const logRef = useRef<HTMLDivElement>(null)
  const asking = useMutation({
    mutationFn: (message: string) =>
      askDemo({
        message,
        model,
        conversation: lines.filter(({ who }) => who === 'you').map((line) => ({ role: 'user', content: line.text })),
      }),
    onSuccess: ({ message, usage }, question) => {
      const answer: Line = { id: lines.length + 1, who: 'model', text: message, tokens: usage.total_tokens }
      setLines([...lines, { id: lines.length, who: 'you', text: question }, answer])
      setText('')
    },
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls to each new line
  useEffect(() => {
    const log = logRef.current
    if (log) log.scrollTop = log.scrollHeight
  }, [lines.length, asking.isPending])
  const ask = (message: string) => {
    if (message.trim() !== '' && !asking.isPending) asking.mutate(message.trim())
  }
  const submit = (event: SyntheticEvent) => {
    event.preventDefault()
    ask(text)
  }
  return (
    <>
      <div
        ref={logRef}
        role="log"
        aria-label="Conversation"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        className="flex max-h-96 flex-1 flex-col gap-3 overflow-y-auto px-4 py-4 -outline-offset-2"
      >
        {lines.length === 0 && !asking.isPending && (
          <div className="m-auto flex flex-wrap justify-center gap-2">
            {openings.map((opening) => (
              <Button key={opening} onClick={() => ask(opening)} className="whitespace-normal!">
                {opening}
              </Button>
            ))}
          </div>
        )}
        {lines.map((line) => (
          <DemoLine key={line.id} line={line} />
        ))}
        {asking.isPending && <DemoLine line={{ id: -1, who: 'you', text: asking.variables }} />}
        <Patience isPending={asking.isPending}>The model is answering…</Patience>
        {asking.error && <Notice tone="problem">{messageFor(asking.error)}</Notice>}
      </div>
      <form onSubmit={submit} className="flex items-center gap-2 border-t border-line p-3">
        <label htmlFor={id} className="sr-only">
          Message
        </label>
        <input
          id={id}
          value={text}
          maxLength={MAX_CHARACTERS}
          autoComplete="off"
          placeholder="Ask something"
          onChange={(event) => setText(event.target.value)}
          className="min-h-10 min-w-0 flex-1 rounded-md border border-edge bg-surface px-3 text-base placeholder:text-muted sm:text-[0.9375rem]"
        />
        <Button type="submit" look="primary" aria-label="Send" isPending={asking.isPending} className="min-h-10">
          {!asking.isPending && <ArrowUp aria-hidden className="size-4" />}
        </Button>
      </form>
    </>
  )
}

function DemoLine({ line: { who, text, tokens } }: { line: Line }) {
  const isYours = who === 'you'
  return (
    <div
      className={`max-w-[88%] rounded-xl px-3.5 py-2.5 ${isYours ? 'self-end bg-accent-soft' : 'self-start bg-sunken'}`}
    >
      <span className="sr-only">{isYours ? 'You: ' : 'Model: '}</span>
      <p className="wrap-anywhere whitespace-pre-wrap">{text}</p>
      {tokens !== undefined && (
        <p className="mt-1 text-xs text-muted tabular-nums">{tokens.toLocaleString('en')} tokens</p>
      )}
    </div>
  )
}
