import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { ModelCall } from '../../src/features/ai/usage/schemas.ts'
import { ApiError, messageFor } from '../api/request.ts'
import { AgentText } from '../chat/agent-text.tsx'
import { formatCost, formatCount } from '../cost/figures.ts'
import { Notice } from '../ui/notice.tsx'
import { Patience } from '../ui/patience.tsx'
import { formatSeconds } from './model-words.ts'
import { bookedQuery } from './models-api.ts'
import type { TriedAnswer } from './use-answers.ts'

export function TriedAnswerView({ answer }: { answer: TriedAnswer }) {
  const { model, text, state, error } = answer
  return (
    <section
      aria-label={`Answer from ${model}`}
      aria-busy={state === 'asked' || state === 'answering'}
      className="grid min-w-0 grid-cols-1 overflow-hidden rounded-xl border border-line"
    >
      <h3 className="border-b border-line bg-sunken px-4 py-2 font-medium wrap-anywhere">{model}</h3>
      <div className="grid min-h-28 grid-cols-1 content-start gap-3 px-4 py-3">
        {state === 'asked' && <p className="animate-breathe text-muted">Waiting for the first token…</p>}
        <Patience isPending={state === 'asked'}>This is taking longer than usual. You can stop it.</Patience>
        {text && <AgentText text={text} isGrowing={state === 'answering'} />}
        {state === 'done' && !text && <p className="text-muted">Empty answer</p>}
        {state === 'stopped' && <p className="text-sm text-muted">Stopped.</p>}
        {state === 'failed' && <Failed error={error} />}
      </div>
      <Facts answer={answer} />
    </section>
  )
}

function Failed({ error }: { error: unknown }) {
  return (
    <Notice tone="problem" title="No answer">
      <p>{messageFor(error)}</p>
      {error instanceof ApiError && error.status === 402 && (
        <p>
          <Link to="/billing" className="text-accent underline underline-offset-2">
            Plans
          </Link>{' '}
          list which plans include models. Your own provider key works without a plan.
        </p>
      )}
    </Notice>
  )
}

function Facts({ answer: { firstMs, wholeMs, generationId, state, error } }: { answer: TriedAnswer }) {
  const isOver = state !== 'asked' && state !== 'answering'
  const isRefused = error instanceof ApiError && error.status >= 400 && error.status < 500
  return (
    <dl className="grid grid-cols-2 gap-x-4 gap-y-2 border-t border-line px-4 py-3 text-sm tabular-nums">
      <Fact label="Time to first token">{firstMs === null ? '–' : formatSeconds(firstMs)}</Fact>
      <Fact label="Total time">{wholeMs === null ? '–' : formatSeconds(wholeMs)}</Fact>
      {isOver && generationId ? (
        <Booked generationId={generationId} />
      ) : (
        <>
          <Fact label="Tokens">{isRefused ? 'none' : isOver ? 'see Cost' : '–'}</Fact>
          <Fact label="Cost">{isRefused ? 'nothing' : isOver ? 'see Cost' : '–'}</Fact>
        </>
      )}
    </dl>
  )
}

function Booked({ generationId }: { generationId: string }) {
  const { data: call, error } = useQuery(bookedQuery(generationId))
  if (call) {
    return (
      <>
        <Fact label="Tokens">
          {formatCount(call.inputTokens)} input, {formatCount(call.outputTokens)} output
        </Fact>
        <Fact label="Cost">{describeCost(call)}</Fact>
      </>
    )
  }
  const words = error ? 'unavailable' : 'calculating…'
  return (
    <>
      <Fact label="Tokens">{words}</Fact>
      <Fact label="Cost">{words}</Fact>
    </>
  )
}

function describeCost({ costUsd, isEstimated, isOwnKey }: ModelCall): string {
  return [formatCost(costUsd), isEstimated && '(estimated)', isOwnKey && 'on your own key'].filter(Boolean).join(' ')
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-muted">{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}
