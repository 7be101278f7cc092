import { createParser } from 'eventsource-parser'
import { useEffect, useRef, useState } from 'react'
import { z } from 'zod'
import { forgetSession } from '../api/query-client.ts'
import { ApiError, api, isAbort, send } from '../api/request.ts'

/** Keeps comparisons cheap. */
export const MAX_ANSWER_TOKENS = 1000
/** Includes fallbacks to other providers. */
const BEGIN_MS = 180_000
/** The server sends a keep-alive every 5 s. */
const SILENCE_MS = 20_000

const Piece = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }).nullish() })).optional(),
  error: z.object({ message: z.string() }).optional(),
})

type Asking = {
  model: string
  prompt: string
  signal: AbortSignal
  /** The generation id under which the call is recorded. */
  onBegin: (generationId: string) => void
  onText: (text: string) => void
}

/**
 * Streams one model's answer.
 * @throws ApiError for a rejection, a truncated answer and a silent server; rethrows an abort by `signal`.
 */
async function askModel({ model, prompt, signal, onBegin, onText }: Asking): Promise<void> {
  const body = {
    model,
    messages: [{ role: 'user' as const, content: prompt }],
    max_tokens: MAX_ANSWER_TOKENS,
    stream: true,
  }
  const guard = createSilenceGuard(signal)
  try {
    const options = { body, signal: guard.signal, parseAs: 'stream', fetch: send } as const
    const { response } = await api.POST('/api/ai/chat', options)
    onBegin(response.headers.get('x-generation-id') ?? '')
    await readAnswer(response, guard.hear, onText)
  } catch (error) {
    if (signal.aborted) throw error
    if (isAbort(error) || guard.signal.aborted)
      throw new ApiError(0, 'The server stopped responding. Try again in a moment.')
    throw error instanceof ApiError ? error : brokenOff()
  } finally {
    guard.end()
  }
}

async function readAnswer(response: Response, onHeard: () => void, onText: (text: string) => void): Promise<void> {
  let isDone = false
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') isDone = true
      else onText(readPiece(data))
    },
  })
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  // Not every browser supports async iteration of a body.
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    onHeard()
    parser.feed(decoder.decode(piece.value, { stream: true }))
  }
  if (!isDone) throw brokenOff()
}

/** @throws ApiError for an error event. */
function readPiece(data: string): string {
  const { choices, error } = Piece.parse(JSON.parse(data))
  if (error) throw new ApiError(502, error.message)
  return choices?.[0]?.delta?.content ?? ''
}

function brokenOff(): ApiError {
  return new ApiError(0, 'The connection was lost before the answer was complete. Try again.')
}

/** Aborts with `signal`, and after `SILENCE_MS` without data. */
function createSilenceGuard(signal: AbortSignal) {
  const silence = new AbortController()
  const wait = (ms: number) => setTimeout(() => silence.abort(), ms)
  let timer = wait(BEGIN_MS)
  return {
    signal: AbortSignal.any([signal, silence.signal]),
    hear() {
      clearTimeout(timer)
      timer = wait(SILENCE_MS)
    },
    end: () => clearTimeout(timer),
  }
}

/** Times are in ms since the question. */
export type TriedAnswer = {
  model: string
  text: string
  state: 'asked' | 'answering' | 'done' | 'stopped' | 'failed'
  /** Time of the first token. */
  firstMs: number | null
  wholeMs: number | null
  /** Null until a model has begun. */
  generationId: string | null
  error: unknown
}

/** Asks several models at once. A new question, or leaving the page, aborts the last one. */
export function useAnswers() {
  const [answers, setAnswers] = useState<TriedAnswer[]>([])
  const asking = useRef<AbortController | null>(null)
  useEffect(() => () => asking.current?.abort(), [])

  const ask = (models: readonly string[], prompt: string) => {
    asking.current?.abort()
    const stopping = new AbortController()
    asking.current = stopping
    setAnswers(models.map(toAsked))
    models.forEach((model, place) => {
      const change = (next: (answer: TriedAnswer) => Partial<TriedAnswer>) => {
        if (asking.current !== stopping) return
        setAnswers((now) => now.map((answer, each) => (each === place ? { ...answer, ...next(answer) } : answer)))
      }
      void follow(model, prompt, stopping.signal, change).then((error) => {
        // The shell redirects to the sign-in page.
        if (error instanceof ApiError && error.status === 401) forgetSession()
      })
    })
  }
  return {
    answers,
    isRunning: answers.some(({ state }) => state === 'asked' || state === 'answering'),
    ask,
    stop: () => asking.current?.abort(),
  }
}

type Change = (next: (answer: TriedAnswer) => Partial<TriedAnswer>) => void

/** @returns the error, or undefined. */
async function follow(model: string, prompt: string, signal: AbortSignal, change: Change): Promise<unknown> {
  const begun = performance.now()
  const since = () => performance.now() - begun
  try {
    await askModel({
      model,
      prompt,
      signal,
      onBegin: (generationId) => change(() => ({ state: 'answering', generationId: generationId || null })),
      onText(piece) {
        // Measured on arrival instead of on render.
        const nowMs = since()
        change(({ text, firstMs }) => ({ text: text + piece, firstMs: firstMs ?? (piece ? nowMs : null) }))
      },
    })
    const wholeMs = since()
    change(() => ({ state: 'done', wholeMs }))
    return undefined
  } catch (error) {
    const wholeMs = since()
    change(() => (signal.aborted ? { state: 'stopped', wholeMs } : { state: 'failed', wholeMs, error }))
    return error
  }
}

function toAsked(model: string): TriedAnswer {
  return { model, text: '', state: 'asked', firstMs: null, wholeMs: null, generationId: null, error: null }
}
