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
    label: 'Agent introduction',
    fields: [
      { name: 'agentName', label: 'Agent name', look: 'line' },
      { name: 'agentDescription', label: 'Description', look: 'prose' },
    ],
  },
  marketing: {
    label: 'Product ad',
    fields: [
      { name: 'productName', label: 'Product name', look: 'line' },
      { name: 'features', label: 'Features, one per line', look: 'lines' },
    ],
  },
  tutorial: {
    label: 'Explainer',
    fields: [
      { name: 'topic', label: 'Topic', look: 'line' },
      { name: 'steps', label: 'Steps, one per line', look: 'lines' },
    ],
  },
  screenshot: {
    label: 'Animated image',
    fields: [
      { name: 'imageUrl', label: 'Image URL', look: 'line', placeholder: 'https://…' },
      { name: 'description', label: 'Motion', look: 'prose' },
    ],
  },
}

type VideoFormProps = { type: VideoType; onType: (type: VideoType) => void; isDisabled: boolean }

/** Keeps the input of each type when switching between them. */
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
          return [name, texts[name]?.trim() ? message : 'This field is required.']
        }),
      ),
    )
    if (parsed.success && !order.isPending) order.mutate(parsed.data)
  }
  return (
    <form onSubmit={submit} noValidate className="grid grid-cols-1 gap-4">
      <SelectField label="Type" value={type} onChange={({ target }) => onType(toVideoType(target.value))}>
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
      {order.isSuccess && <Notice tone="good">Video requested. Follow its progress below.</Notice>}
      <Button
        type="submit"
        look="primary"
        className="justify-self-start"
        disabled={isDisabled}
        isPending={order.isPending}
      >
        Create video
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
    <Notice tone="problem" title="Could not create the video">
      <p>{messageFor(error)}</p>
      {error instanceof ApiError && error.status === 402 && (
        <Link to="/billing" className="text-accent underline underline-offset-2">
          View plans
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
