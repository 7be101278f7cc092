import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type SyntheticEvent, useState } from 'react'
import { GenerateVideoRequest } from '../../src/features/web-tools/video/schemas.ts'
import { ApiError, messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { TextArea } from '../ui/text-area.tsx'
import { orderVideo, videosQuery } from './media-api.ts'

export type VideoType = 'demo' | 'marketing' | 'screenshot' | 'tutorial'
type VideoField = { name: string; label: string; look: 'line' | 'prose' | 'lines'; placeholder?: string }

export const VIDEO_TYPES: Record<VideoType, { label: string; fields: readonly VideoField[] }> = {
  demo: {
    label: 'Introduces an agent',
    fields: [
      { name: 'agentName', label: 'Name of the agent', look: 'line' },
      { name: 'agentDescription', label: 'What it does', look: 'prose' },
    ],
  },
  marketing: {
    label: 'Advertises a product',
    fields: [
      { name: 'productName', label: 'Name of the product', look: 'line' },
      { name: 'features', label: 'What it can do, one a line', look: 'lines' },
    ],
  },
  tutorial: {
    label: 'Explains something',
    fields: [
      { name: 'topic', label: 'Topic', look: 'line' },
      { name: 'steps', label: 'Steps, one a line', look: 'lines' },
    ],
  },
  screenshot: {
    label: 'Brings a picture to life',
    fields: [
      { name: 'imageUrl', label: 'Address of the picture', look: 'line', placeholder: 'https://…' },
      { name: 'description', label: 'What is to happen', look: 'prose' },
    ],
  },
}

type VideoFormProps = { type: VideoType; onType: (type: VideoType) => void; isDisabled: boolean }

/** What is to be filmed. What was written for one kind is there again when one comes back to it. */
export function VideoForm({ type, onType, isDisabled }: VideoFormProps) {
  const client = useQueryClient()
  const [texts, setTexts] = useState<Record<string, string>>({})
  const [problems, setProblems] = useState<Record<string, string>>({})
  const order = useMutation({
    mutationFn: orderVideo,
    onSettled: () => client.invalidateQueries({ queryKey: videosQuery.queryKey }),
  })
  const { fields } = VIDEO_TYPES[type]
  const submit = (event: SyntheticEvent) => {
    event.preventDefault()
    const values = fields.map(({ name, look }) => [name, readField(texts[name] ?? '', look)])
    const parsed = GenerateVideoRequest.safeParse({ type, ...Object.fromEntries(values) })
    const issues = parsed.success ? [] : parsed.error.issues
    setProblems(
      Object.fromEntries(
        issues.map(({ path, message }) => {
          const name = String(path[0])
          return [name, texts[name]?.trim() ? message : 'Please fill in this field.']
        }),
      ),
    )
    if (parsed.success && !order.isPending) order.mutate(parsed.data)
  }
  return (
    <form onSubmit={submit} noValidate className="grid grid-cols-1 gap-4">
      <SelectField label="What it is for" value={type} onChange={({ target }) => onType(toVideoType(target.value))}>
        {Object.entries(VIDEO_TYPES).map(([value, { label }]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </SelectField>
      {fields.map((field) => (
        <VideoTextField
          key={field.name}
          field={field}
          value={texts[field.name] ?? ''}
          error={problems[field.name]}
          onChange={(text) => setTexts({ ...texts, [field.name]: text })}
        />
      ))}
      <OrderProblem error={order.error} />
      {order.isSuccess && <Notice tone="good">It is ordered: the list below tells how it goes.</Notice>}
      <Button
        type="submit"
        look="primary"
        className="justify-self-start"
        disabled={isDisabled}
        isPending={order.isPending}
      >
        Make video
      </Button>
    </form>
  )
}

type VideoTextFieldProps = {
  field: VideoField
  value: string
  error: string | undefined
  onChange: (text: string) => void
}

function VideoTextField({ field: { label, look, placeholder }, value, error, onChange }: VideoTextFieldProps) {
  if (look !== 'line') {
    return (
      <TextArea
        label={label}
        look="prose"
        rows={4}
        value={value}
        error={error}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    )
  }
  return (
    <TextField
      label={label}
      value={value}
      placeholder={placeholder}
      autoComplete="off"
      error={error}
      onChange={({ target }) => onChange(target.value)}
    />
  )
}

function OrderProblem({ error }: { error: Error | null }) {
  if (!error) return null
  return (
    <Notice tone="problem" title="It was not ordered">
      <p>{messageFor(error)}</p>
      {error instanceof ApiError && error.status === 402 && (
        <Link to="/billing" className="text-accent underline underline-offset-2">
          Choose a plan
        </Link>
      )}
    </Notice>
  )
}

function readField(text: string, look: VideoField['look']): string | string[] {
  if (look !== 'lines') return text
  return text.split('\n').filter((line) => line.trim() !== '')
}

function toVideoType(value: string): VideoType {
  return value === 'marketing' || value === 'screenshot' || value === 'tutorial' ? value : 'demo'
}
