import { useMutation, useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import { modelsQuery } from '../agents/agents-api.ts'
import { refresh } from '../api/query-client.ts'
import { Button } from '../ui/button.tsx'
import { PasswordField, SelectField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ErrorNotice, Loaded, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
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
  const removal = useMutation({ mutationFn: disableOwnKeys, onSettled: () => readAnew() })
  return (
    <div className="grid gap-3">
      <p className="text-sm">
        Active: <span className="font-medium">{providers.map(nameOf).join(', ')}</span>
      </p>
      <ErrorNotice error={removal.error} />
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
    <Form form={form} verb="Save key" look="primary">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <SelectField label="Provider" name="provider">
          {PROVIDERS.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </SelectField>
        <PasswordField label="API key" name="apiKey" />
      </div>
    </Form>
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
