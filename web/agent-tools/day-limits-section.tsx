import { useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { DayLimits } from '../../src/features/ai/breakers/schemas.ts'
import { TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Loaded, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { LimitActionField } from './limit-action-field.tsx'
import { changeLimits, limitsQuery } from './limits-api.ts'

const COUNTS = [
  { kind: 'messages', label: 'Messages sent per day', atLimit: 'At the message limit' },
  { kind: 'toolCalls', label: 'Tool calls per day', atLimit: 'At the tool call limit' },
  { kind: 'files', label: 'Files written per day', atLimit: 'At the file limit' },
] as const

const Limit = z
  .string()
  .trim()
  .regex(/^\d{0,9}$/, 'Enter a whole number, or nothing for no limit')
  .transform((text) => (text === '' ? null : Number(text)))
const Action = z.enum(['ask', 'pause', 'stop'])
const LimitsForm = z
  .object({
    messages: Limit,
    messagesAction: Action,
    toolCalls: Limit,
    toolCallsAction: Action,
    files: Limit,
    filesAction: Action,
  })
  .transform((form) => ({
    messages: { limit: form.messages, action: form.messagesAction },
    toolCalls: { limit: form.toolCalls, action: form.toolCallsAction },
    files: { limit: form.files, action: form.filesAction },
  }))

/** Limits of an agent's actions per day; limits of model usage are in a separate section. */
export function DayLimitsSection({ agent }: { agent: WebAgent }) {
  const query = useQuery(limitsQuery(agent.id))
  return (
    <Section
      title="Activity limits"
      lead={`What ${agent.name} may do in a day of your time zone, and what happens at the limit.`}
    >
      <Loaded query={query} what="activity limits" placeholder={<Skeleton className="h-40" />}>
        {(limits) => <LimitFields key={JSON.stringify(limits.limits)} limits={limits} />}
      </Loaded>
    </Section>
  )
}

function LimitFields({ limits: { agentId, limits } }: { limits: DayLimits }) {
  const form = useForm(LimitsForm, (body) => changeLimits(agentId, body))
  return (
    <Form form={form} verb="Save activity limits">
      {!limits.messages.enforced && (
        <Notice tone="warning" title="Not enforced">
          OpenClaw does not report what it does.
        </Notice>
      )}
      {COUNTS.map(({ kind, label, atLimit }) => (
        <div key={kind} className="grid grid-cols-1 items-start gap-4 sm:grid-cols-2">
          <TextField
            label={label}
            name={kind}
            inputMode="numeric"
            placeholder="No limit"
            defaultValue={limits[kind].limit ?? ''}
            hint={`${limits[kind].used.toLocaleString('en')} today`}
          />
          <LimitActionField label={atLimit} name={`${kind}Action`} action={limits[kind].action} />
        </div>
      ))}
    </Form>
  )
}
