import { useMutation, useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import { modelsQuery } from '../agents/agents-api.ts'
import { refresh } from '../api/query-client.ts'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { PasswordField, SelectField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Loaded } from '../ui/loaded.tsx'
import { Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { SectionForm } from './form-notice.tsx'
import { billingQuery, disableOwnKeys, enableOwnKey } from './settings-api.ts'

const PROVIDERS = [
  { id: 'openrouter', name: 'OpenRouter' },
  { id: 'openai', name: 'OpenAI' },
  { id: 'anthropic', name: 'Anthropic' },
  { id: 'gemini', name: 'Google Gemini' },
  { id: 'groq', name: 'Groq' },
] as const

const OwnKeyWish = z.object({ provider: z.string().min(1), apiKey: z.string().trim().min(1) })

export function OwnKeysSection() {
  const query = useQuery(billingQuery)
  return (
    <Section
      title="Provider keys"
      lead="Use your own provider account. Usage is recorded here but does not count toward your plan’s quotas."
    >
      <Loaded query={query} what="provider keys" placeholder={<Skeleton className="h-24" />}>
        {(data) => (
          <>
            {data.byokProviders.length > 0 && <Enabled providers={data.byokProviders} />}
            <OwnKeyForm />
          </>
        )}
      </Loaded>
    </Section>
  )
}

function Enabled({ providers }: { providers: string[] }) {
  const removal = useMutation({
    mutationFn: disableOwnKeys,
    onSettled: () => readAnew(),
  })
  return (
    <div className="grid gap-3">
      <p className="text-sm">
        Active: <span className="font-medium">{providers.map(nameOf).join(', ')}</span>
      </p>
      {removal.isError && <Notice tone="problem">{messageFor(removal.error)}</Notice>}
      <Button className="justify-self-start" isPending={removal.isPending} onClick={() => removal.mutate()}>
        Remove all
      </Button>
    </div>
  )
}

/** The server tests the key before it is saved. */
export function OwnKeyForm({ onEnabled }: { onEnabled?: () => unknown }) {
  const form = useForm(
    OwnKeyWish,
    async (wish) => {
      await enableOwnKey(wish)
      form.formRef.current?.reset()
      await readAnew()
      await onEnabled?.()
    },
    () => 'apiKey',
  )
  return (
    <SectionForm form={form} action="Save key" look="primary">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <SelectField label="Provider" name="provider">
          {PROVIDERS.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </SelectField>
        <PasswordField label="API key" name="apiKey" autoComplete="off" error={form.problem?.fields.apiKey} />
      </div>
    </SectionForm>
  )
}

/** Reloads everything, because a key adds or removes models. */
async function readAnew(): Promise<void> {
  const changed = [billingQuery.queryKey, modelsQuery.queryKey]
  await Promise.all(changed.map((queryKey) => refresh({ queryKey })))
}

function nameOf(provider: string): string {
  return PROVIDERS.find(({ id }) => id === provider)?.name ?? provider
}
