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
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { PasswordField, SelectField, TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { changeAgentFields, fieldOfConfig, useChangeConfig } from './agent-api.ts'

type ConfigSectionProps = { agent: WebAgent; config: ShownConfig }

const ModelForm = ConfigRequest.pick({ model: true }).required()
const ProviderForm = ConfigRequest.pick({ aiProvider: true }).required()
const formClass = 'grid max-w-md grid-cols-1 gap-4'

export function NameSection({ agent }: { agent: WebAgent }) {
  const form = useForm(
    RenameAgentRequest,
    async ({ name }) => {
      await changeAgentFields(agent.id, { name })
      await refresh(agentsQuery)
    },
    fieldOfConfig(['name']),
  )
  return (
    <Section title="Name">
      <Form form={form} verb="Save name" className={formClass}>
        {form.isDone && <Notice tone="good">Name saved.</Notice>}
        <TextField label="Name" name="name" maxLength={64} defaultValue={agent.name} />
      </Form>
    </Section>
  )
}

export function ModelSection({ agent, config }: ConfigSectionProps) {
  const change = useChangeConfig(agent.id)
  const form = useForm(ModelForm, change, fieldOfConfig(['model']))
  return (
    <Section title="Model" lead="Changing the model restarts a running agent.">
      <Form form={form} verb="Save model" className={formClass}>
        {form.isDone && <Notice tone="good">Model saved.</Notice>}
        <ModelField current={config.model} />
      </Form>
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
      <Form form={form} verb="Save provider" className={formClass}>
        {form.isDone && <Notice tone="good">Provider saved.</Notice>}
        <SelectField
          label="Provider"
          name="aiProvider"
          defaultValue={config.aiProvider}
          hint="Provider of the key below"
        >
          {!isKnown && <option value={config.aiProvider}>{config.aiProvider}</option>}
          {AI_PROVIDERS.map((provider) => (
            <option key={provider} value={provider}>
              {provider}
            </option>
          ))}
        </SelectField>
      </Form>
      <SecretSetting agent={agent} name="apiKey" label="Provider key" isSet={config.secrets.apiKey} />
    </Section>
  )
}

type SecretSettingProps = { agent: WebAgent; name: SecretName; label: string; isSet: boolean; hint?: ReactNode }

export function SecretSetting({ agent, name, label, isSet, hint }: SecretSettingProps) {
  const change = useChangeConfig(agent.id)
  const [isAsking, setAsking] = useState(false)
  const removeRef = useRef<HTMLButtonElement>(null)
  const form = useForm(
    z.object({ value: SecretSettings.shape[name] }),
    async ({ value }) => {
      await change({ [name]: value })
      form.formRef.current?.reset()
    },
    () => 'value',
  )
  return (
    <Form form={form} className="grid max-w-md grid-cols-1 gap-3">
      <div className="grid grid-cols-1 gap-3">
        <div className="relative">
          <span className="absolute top-0 right-0 flex items-center gap-2">
            <span role="status" className="text-sm text-accent">
              {form.isDone && 'Saved'}
            </span>
            {isSet ? <Badge tone="good">Set</Badge> : <Badge>Not set</Badge>}
          </span>
          <PasswordField
            label={label}
            name="value"
            data-1p-ignore
            placeholder={isSet ? 'Enter a new value to replace it' : undefined}
            hint={hint}
          />
        </div>
        <div className="flex gap-2">
          <Button type="submit" aria-label={`Save ${label}`} isPending={form.isPending}>
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
        <ConfirmDialog
          title={`Remove the ${label.toLowerCase()}?`}
          lead={`${agent.name} continues without it. A running agent restarts.`}
          verb="Remove"
          run={() => change({ [name]: null })}
          onClose={() => setAsking(false)}
          onCloseFocus={(event) => {
            event.preventDefault()
            const target = removeRef.current ?? form.formRef.current?.querySelector('input')
            target?.focus()
          }}
        />
      )}
    </Form>
  )
}
