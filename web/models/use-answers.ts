import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { forgetSession } from '../account/session.ts'
import { ApiError } from '../api/request.ts'
import { askModel } from './ask-model.ts'

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
  const client = useQueryClient()
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
        if (error instanceof ApiError && error.status === 401) forgetSession(client)
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
