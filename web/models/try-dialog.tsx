import { Link } from '@tanstack/react-router'
import { type SyntheticEvent, useId, useState } from 'react'
import type { AiModel } from '../../src/features/ai/gateway/schemas.ts'
import { Button } from '../ui/button.tsx'
import { SelectField } from '../ui/field.tsx'
import { Modal } from '../ui/modal.tsx'
import { TextArea } from '../ui/text-area.tsx'
import { MAX_ANSWER_TOKENS } from './ask-model.ts'
import type { ModelsSearch } from './models-search.ts'
import { TriedAnswerView } from './tried-answer.tsx'
import { useAnswers } from './use-answers.ts'

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
