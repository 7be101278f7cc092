import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import { z } from 'zod'
import {
  AI_PROVIDERS,
  ConfigRequest,
  RenameAgentRequest,
  type SecretName,
  SecretSettings,
  type ShownConfig,
  type WebAgent,
} from '../../src/features/agents/registry/schemas.ts'
import { agentsQuery } from '../agents/agents-api.ts'
import { ModelField } from '../agents/model-field.tsx'
import { refresh } from '../api/query-client.ts'
import { FormNotice } from '../settings/form-notice.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { PasswordField, SelectField, TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { AskDialog } from '../ui/modal.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { fieldOfConfig, renameAgent, useChangeConfig } from './agent-api.ts'

type ConfigSectionProps = { agent: WebAgent; config: ShownConfig }

const ModelForm = ConfigRequest.pick({ model: true }).required()
const ProviderForm = ConfigRequest.pick({ aiProvider: true }).required()
const formClass = 'grid max-w-md grid-cols-1 gap-4'

export function NameSection({ agent }: { agent: WebAgent }) {
  const { formRef, problem, isPending, isDone, onSubmit } = useForm(
    RenameAgentRequest,
    async ({ name }) => {
      await renameAgent(agent.id, name)
      await refresh(agentsQuery)
    },
    fieldOfConfig(['name']),
  )
  return (
    <Section title="Name">
      <form ref={formRef} onSubmit={onSubmit} noValidate className={formClass}>
        <FormNotice problem={problem} />
        {isDone && <Notice tone="good">Name saved.</Notice>}
        <TextField
          label="Name"
          name="name"
          maxLength={64}
          autoComplete="off"
          defaultValue={agent.name}
          error={problem?.fields.name}
        />
        <Button type="submit" className="justify-self-start" isPending={isPending}>
          Save name
        </Button>
      </form>
    </Section>
  )
}

export function ModelSection({ agent, config }: ConfigSectionProps) {
  const change = useChangeConfig(agent.id)
  const form = useForm(ModelForm, change, fieldOfConfig(['model']))
  return (
    <Section title="Model" lead="Changing the model restarts a running agent.">
      <form ref={form.formRef} onSubmit={form.onSubmit} noValidate className={formClass}>
        <FormNotice problem={form.problem} />
        {form.isDone && <Notice tone="good">Model saved.</Notice>}
        <ModelField current={config.model} error={form.problem?.fields.model} />
        <Button type="submit" className="justify-self-start" isPending={form.isPending}>
          Save model
        </Button>
      </form>
    </Section>
  )
}

export function ProviderSection({ agent, config }: ConfigSectionProps) {
  const change = useChangeConfig(agent.id)
  const form = useForm(ProviderForm, change, fieldOfConfig(['aiProvider']))
  const isKnown = AI_PROVIDERS.some((provider) => provider === config.aiProvider)
  return (
    <Section
      title="Provider"
      lead="Without your own key, the agent uses this server’s providers and its cost is recorded here."
    >
      <form ref={form.formRef} onSubmit={form.onSubmit} noValidate className={formClass}>
        <FormNotice problem={form.problem} />
        {form.isDone && <Notice tone="good">Provider saved.</Notice>}
        <SelectField
          label="Provider"
          name="aiProvider"
          defaultValue={config.aiProvider}
          hint="Provider of the key below"
          error={form.problem?.fields.aiProvider}
        >
          {!isKnown && <option value={config.aiProvider}>{config.aiProvider}</option>}
          {AI_PROVIDERS.map((provider) => (
            <option key={provider} value={provider}>
              {provider}
            </option>
          ))}
        </SelectField>
        <Button type="submit" className="justify-self-start" isPending={form.isPending}>
          Save provider
        </Button>
      </form>
      <SecretSetting agent={agent} name="apiKey" label="Provider key" isSet={config.secrets.apiKey} />
    </Section>
  )
}

type SecretSettingProps = { agent: WebAgent; name: SecretName; label: string; isSet: boolean; hint?: ReactNode }

export function SecretSetting({ agent, name, label, isSet, hint }: SecretSettingProps) {
  const change = useChangeConfig(agent.id)
  const [isAsking, setAsking] = useState(false)
  const removeRef = useRef<HTMLButtonElement>(null)
  const removal = useMutation({ mutationFn: () => change({ [name]: null }), onSuccess: () => setAsking(false) })
  const { formRef, problem, isPending, isDone, onSubmit } = useForm(
    z.object({ value: SecretSettings.shape[name] }),
    async ({ value }) => {
      await change({ [name]: value })
      formRef.current?.reset()
    },
    () => 'value',
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid max-w-md grid-cols-1 gap-3">
      {problem?.fields.value === undefined && <FormNotice problem={problem} />}
      <div className="grid grid-cols-1 gap-3">
        <div className="relative">
          <span className="absolute top-0 right-0 flex items-center gap-2">
            <span role="status" className="text-sm text-accent">
              {isDone && 'Saved'}
            </span>
            {isSet ? <Badge tone="good">Set</Badge> : <Badge>Not set</Badge>}
          </span>
          <PasswordField
            label={label}
            name="value"
            autoComplete="off"
            data-1p-ignore
            placeholder={isSet ? 'Enter a new value to replace it' : undefined}
            hint={hint}
            error={problem?.fields.value}
          />
        </div>
        <div className="flex gap-2">
          <Button type="submit" aria-label={`Save ${label}`} isPending={isPending}>
            Save
          </Button>
          {isSet && (
            <Button ref={removeRef} aria-label={`Remove ${label}`} onClick={() => setAsking(true)}>
              Remove
            </Button>
          )}
        </div>
      </div>
      {isAsking && (
        <AskDialog
          title={`Remove the ${label.toLowerCase()}?`}
          lead={`${agent.name} continues without it. A running agent restarts.`}
          verb="Remove"
          isPending={removal.isPending}
          error={removal.error}
          onConfirm={() => removal.mutate()}
          onClose={() => setAsking(false)}
          onCloseFocus={(event) => {
            event.preventDefault()
            const target = removeRef.current ?? formRef.current?.querySelector('input')
            target?.focus()
          }}
        />
      )}
    </form>
  )
}
