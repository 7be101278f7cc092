import { useQueryClient } from '@tanstack/react-query'
import {
  AI_PROVIDERS,
  ConfigRequest,
  RenameAgentRequest,
  type ShownConfig,
  type WebAgent,
} from '../../src/features/agents/registry/schemas.ts'
import { agentsQuery } from '../agents/agents-api.ts'
import { ModelField } from '../agents/model-field.tsx'
import { FormNotice } from '../settings/form-notice.tsx'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { renameAgent } from './agent-api.ts'
import { SecretSetting } from './secret-setting.tsx'
import { fieldOfConfig, useChangeConfig } from './use-config.ts'

type ConfigSectionProps = { agent: WebAgent; config: ShownConfig }

const ModelForm = ConfigRequest.pick({ model: true }).required()
const ProviderForm = ConfigRequest.pick({ aiProvider: true }).required()
const formClass = 'grid max-w-md grid-cols-1 gap-4'

export function NameSection({ agent }: { agent: WebAgent }) {
  const client = useQueryClient()
  const { formRef, problem, isPending, isDone, onSubmit } = useForm(
    RenameAgentRequest,
    async ({ name }) => {
      await renameAgent(agent.id, name)
      await client.invalidateQueries({ queryKey: agentsQuery.queryKey })
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
