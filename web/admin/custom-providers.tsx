import { useMutation } from '@tanstack/react-query'
import { type useRef, useState } from 'react'
import { z } from 'zod'
import { CustomProviderRequest, type Services } from '../../src/features/admin/services/schemas.ts'
import { hasCode, messageFor } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { PasswordField, TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ErrorNotice, Notice } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { ForgetButton } from './paging.tsx'
import { forgetProvider, setProvider, testProvider } from './services-api.ts'

type Provider = Services['providers'][number]

/** An empty key keeps the stored one. */
const ProviderForm = CustomProviderRequest.extend({
  apiKey: z.preprocess((key) => (key === '' ? undefined : key), CustomProviderRequest.shape.apiKey),
})

export function CustomProviders({ providers, ollama }: Pick<Services, 'providers' | 'ollama'>) {
  const [isAdding, setAdding] = useState(false)
  return (
    <Section
      title="Custom providers"
      lead="Any server with an OpenAI-compatible API: vLLM, LM Studio, LiteLLM, Ollama, or an internal gateway. Its models are listed as name/model."
    >
      {ollama && <FoundOllama ollama={ollama} />}
      {providers.length > 0 && (
        <ul aria-label="Custom providers" className="divide-y divide-line">
          {providers.map((provider) => (
            <ProviderRow key={provider.id} provider={provider} />
          ))}
        </ul>
      )}
      {isAdding ? (
        <CustomProviderForm onClose={() => setAdding(false)} />
      ) : (
        <Button className="justify-self-start" onClick={() => setAdding(true)}>
          Add a provider
        </Button>
      )}
    </Section>
  )
}

function FoundOllama({ ollama: { baseUrl, models } }: { ollama: NonNullable<Services['ollama']> }) {
  const use = useMutation({ mutationFn: () => setProvider('ollama', { baseUrl, label: 'Ollama' }) })
  return (
    <Notice tone="note" title="Ollama detected on this machine">
      <div className="grid justify-items-start gap-2">
        <p>
          It serves {models === 1 ? '1 model' : `${models} models`} at {baseUrl}.
        </p>
        {use.error && <p className="text-bad">{messageFor(use.error)}</p>}
        <Button isPending={use.isPending} onClick={() => use.mutate()}>
          Use Ollama
        </Button>
      </div>
    </Notice>
  )
}

function ProviderRow({ provider }: { provider: Provider }) {
  const [isEditing, setEditing] = useState(false)
  const test = useMutation({ mutationFn: () => testProvider(provider.id, {}) })
  const { id, label, baseUrl, source, models, hasKey, unpriced = 0 } = provider
  const name = label || id
  return (
    <li className="grid grid-cols-1 gap-3 py-3 first:pt-0 last:pb-0">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <div className="grid min-w-0 gap-0.5">
          <p className="flex flex-wrap items-center gap-2.5 font-medium">
            {name}
            <Badge tone={models > 0 ? 'good' : 'plain'}>{models === 1 ? '1 model' : `${models} models`}</Badge>
            {unpriced > 0 && <Badge tone="warning">{unpriced} without a price</Badge>}
          </p>
          <p className="text-sm wrap-anywhere text-muted">
            {[id, baseUrl, hasKey && 'with a key', source === 'environment' && 'set by environment']
              .filter(Boolean)
              .join(' · ')}
          </p>
        </div>
        <div className="flex flex-wrap gap-2">
          {baseUrl !== undefined && (
            <Button isPending={test.isPending} onClick={() => test.mutate()}>
              Test {name}
            </Button>
          )}
          {source === 'dashboard' && (
            <>
              <Button aria-expanded={isEditing} onClick={() => setEditing(!isEditing)}>
                Edit {name}
              </Button>
              <ForgetButton
                title={`Delete ${name}?`}
                lead="Its models become unavailable. Agents that use them fail until you select another model."
                verb="Delete"
                forget={() => forgetProvider(id)}
              />
            </>
          )}
        </div>
      </div>
      {test.data && <p className="text-sm text-good">Connected: {test.data.count} models available.</p>}
      <ErrorNotice error={test.error} />
      {isEditing && <CustomProviderForm provider={provider} onClose={() => setEditing(false)} />}
    </li>
  )
}

function CustomProviderForm({ provider, onClose }: { provider?: Provider; onClose: () => void }) {
  const form = useForm(
    ProviderForm,
    async ({ id, ...request }) => {
      await setProvider(id, request)
      onClose()
    },
    (error) => (hasCode(error, 'CREDENTIALS_REFUSED') ? 'apiKey' : null),
  )
  return (
    <Form form={form} verb="Test and save" onCancel={onClose}>
      <div className="grid max-w-md grid-cols-1 gap-4">
        {provider ? (
          <input type="hidden" name="id" value={provider.id} />
        ) : (
          <TextField
            label="Name"
            name="id"
            autoFocus
            hint="Lower-case letters, digits and dashes, for example lab. Model ids start with it."
          />
        )}
        <TextField
          label="Base URL"
          name="baseUrl"
          inputMode="url"
          defaultValue={provider?.baseUrl ?? ''}
          hint="For example http://10.0.0.5:8000/v1."
        />
        <PasswordField
          label="API key"
          name="apiKey"
          hint={provider?.hasKey ? 'Leave empty to keep the stored key.' : 'Leave empty if the server needs no key.'}
        />
        <TextField label="Display name" name="label" defaultValue={provider?.label ?? ''} hint="Optional." />
      </div>
      <TestButton formRef={form.formRef} />
    </Form>
  )
}

/** Tests the values in the form without saving them. */
function TestButton({ formRef }: { formRef: ReturnType<typeof useRef<HTMLFormElement | null>> }) {
  const test = useMutation({
    mutationFn: async () => {
      const values = formRef.current ? Object.fromEntries(new FormData(formRef.current)) : {}
      const { id, baseUrl, apiKey } = ProviderForm.parse(values)
      return testProvider(id, { baseUrl, apiKey })
    },
  })
  return (
    <div className="grid justify-items-start gap-2">
      <Button isPending={test.isPending} onClick={() => test.mutate()}>
        Test
      </Button>
      {test.data && (
        <p className="text-sm wrap-anywhere">
          Found {test.data.count} models: {test.data.models.join(', ')}
        </p>
      )}
      {test.error && (
        <Notice tone="problem">
          {test.error instanceof z.ZodError ? test.error.issues[0]?.message : messageFor(test.error)}
        </Notice>
      )}
    </div>
  )
}
