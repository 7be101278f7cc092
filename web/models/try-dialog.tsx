import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, type SyntheticEvent, useId, useState } from 'react'
import type { AiModel } from '../../src/features/ai/gateway/schemas.ts'
import type { ModelCall } from '../../src/features/ai/usage/schemas.ts'
import { ApiError, messageFor } from '../api/request.ts'
import { AgentText } from '../chat/agent-text.tsx'
import { formatCost, formatCount } from '../cost/figures.ts'
import type { ModelsSearch } from '../routes/searches.ts'
import { Button } from '../ui/button.tsx'
import { SelectField, TextArea } from '../ui/field.tsx'
import { Modal } from '../ui/modal.tsx'
import { Notice, Patience } from '../ui/notice.tsx'
import { MAX_ANSWER_TOKENS, type TriedAnswer, useAnswers } from './ask-model.ts'
import { bookedQuery, formatSeconds } from './models-api.ts'

const FIRST_PROMPT = 'Explain tides to a child, in three sentences.'
const MAX_PROMPT_CHARACTERS = 8000

type TryDialogProps = {
  models: readonly AiModel[]
  chosen: string
  against: string | undefined
  onChange: (part: Partial<ModelsSearch>) => void
  onClose: () => void
}

export function TryDialog({ models, chosen, against, onChange, onClose }: TryDialogProps) {
  const titleId = useId()
  const [prompt, setPrompt] = useState(FIRST_PROMPT)
  const { answers, isRunning, ask, stop } = useAnswers()
  const isEmpty = prompt.trim() === ''
  const submit = (event: SyntheticEvent) => {
    event.preventDefault()
    if (!isEmpty && !isRunning) ask(against ? [chosen, against] : [chosen], prompt.trim())
  }
  return (
    <Modal labelledBy={titleId} onClose={onClose} className="grid max-w-5xl grid-cols-1 gap-5 p-4 sm:p-6">
      <div className="grid grid-cols-1 gap-1">
        <h2 id={titleId} className="text-lg font-semibold">
          Try models
        </h2>
        <p className="text-sm text-muted">
          Each answer counts as a regular call and is limited to {MAX_ANSWER_TOKENS.toLocaleString('en')} tokens.
        </p>
      </div>
      <form onSubmit={submit} className="grid grid-cols-1 gap-4">
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <ModelSelect label="Model" models={models} value={chosen} onChoose={(id) => onChange({ try: id })} />
          <ModelSelect
            label="Compare with"
            models={models}
            value={against ?? ''}
            none="None"
            onChoose={(id) => onChange({ against: id || undefined })}
          />
        </div>
        <TextArea
          label="Question"
          look="prose"
          rows={3}
          maxLength={MAX_PROMPT_CHARACTERS}
          value={prompt}
          onChange={({ target }) => setPrompt(target.value)}
        />
        <div className="flex flex-wrap items-center gap-3">
          {isRunning ? (
            // A separate button: the same one turning back would send again on a double click.
            <Button key="stop" onClick={stop}>
              Stop
            </Button>
          ) : (
            <Button key="ask" type="submit" look="primary" disabled={isEmpty}>
              {against ? 'Send to both' : 'Send'}
            </Button>
          )}
          <Button onClick={onClose}>Close</Button>
          {isEmpty && <p className="text-sm text-muted">Enter a question.</p>}
          {answers.length > 0 && !isRunning && (
            <Link to="/cost" className="text-sm text-accent underline underline-offset-2">
              View all usage
            </Link>
          )}
        </div>
      </form>
      {answers.length > 0 && (
        <div className={`grid grid-cols-1 items-start gap-4 ${answers.length > 1 ? 'md:grid-cols-2' : ''}`}>
          {answers.map((answer, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a model may be compared with itself
            <TriedAnswerView key={place} answer={answer} />
          ))}
        </div>
      )}
    </Modal>
  )
}

type ModelSelectProps = {
  label: string
  models: readonly AiModel[]
  value: string
  none?: string
  onChoose: (id: string) => void
}

function ModelSelect({ label, models, value, none, onChoose }: ModelSelectProps) {
  const isKnown = value === '' || models.some(({ id }) => id === value)
  return (
    <SelectField label={label} value={value} onChange={({ target }) => onChoose(target.value)}>
      {none && <option value="">{none}</option>}
      {!isKnown && <option value={value}>{value} (unavailable)</option>}
      {[...Map.groupBy(models, ({ provider }) => provider)].map(([provider, group]) => (
        <optgroup key={provider} label={provider}>
          {group.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </optgroup>
      ))}
    </SelectField>
  )
}

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
