import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { MailRequest, ProviderKeyRequest, type Services } from '../../src/features/admin/services/schemas.ts'
import { hasCode } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { PasswordField, TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Loaded } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { AdminFrame } from './admin-frame.tsx'
import { CustomProviders } from './custom-providers.tsx'
import { ForgetButton, LoadingRows } from './paging.tsx'
import { PricesSection } from './prices-section.tsx'
import { forgetMail, forgetProvider, servicesQuery, setMail, setProvider } from './services-api.ts'

type Provider = Services['providers'][number]

const NAMES: Readonly<Record<string, string>> = {
  openrouter: 'OpenRouter',
  openai: 'OpenAI',
  anthropic: 'Anthropic',
  gemini: 'Gemini',
  groq: 'Groq',
}

function isBuiltIn({ id }: Provider): boolean {
  return Object.hasOwn(NAMES, id)
}

/** Page `/admin/services`. */
export function ServicesPage() {
  const query = useQuery(servicesQuery)
  return (
    <AdminFrame
      title="Services"
      lead="Model providers and outgoing email. Changes apply immediately, without a restart."
    >
      <Loaded query={query} what="services" placeholder={<LoadingRows what="services" />}>
        {({ providers, ollama, mail }) => (
          <div className="grid gap-6">
            <Section
              title="Model providers"
              lead="One API key is enough. We test it, encrypt it, and never show it again."
            >
              <ul aria-label="Providers" className="divide-y divide-line">
                {providers.filter(isBuiltIn).map((provider) => (
                  <ProviderRow key={provider.id} provider={provider} />
                ))}
              </ul>
            </Section>
            <CustomProviders providers={providers.filter((provider) => !isBuiltIn(provider))} ollama={ollama} />
            <PricesSection />
            <Mail mail={mail} />
          </div>
        )}
      </Loaded>
    </AdminFrame>
  )
}

function ProviderRow({ provider }: { provider: Provider }) {
  const [isEditing, setEditing] = useState(false)
  const { id, source, models } = provider
  const name = NAMES[id] ?? id
  const setting = `${id.toUpperCase()}_API_KEY`
  return (
    <li className="grid grid-cols-1 gap-3 py-3 first:pt-0 last:pb-0">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <div className="grid min-w-0 gap-0.5">
          <p className="flex flex-wrap items-center gap-2.5 font-medium">
            {name}
            {source !== null && <Badge tone="good">{models === 1 ? '1 model' : `${models} models`}</Badge>}
          </p>
          <p className="text-sm text-muted">{describe(source, setting)}</p>
        </div>
        {source !== 'environment' && (
          <div className="flex flex-wrap gap-2">
            <Button aria-expanded={isEditing} onClick={() => setEditing(!isEditing)}>
              {source === null ? `Add ${name} key` : `Replace ${name} key`}
            </Button>
            {source === 'dashboard' && (
              <ForgetButton
                title={`Remove the ${name} key?`}
                lead="Its models become unavailable unless another provider offers them."
                forget={() => forgetProvider(id)}
              />
            )}
          </div>
        )}
      </div>
      {isEditing && <ProviderKeyForm id={id} name={name} onClose={() => setEditing(false)} />}
    </li>
  )
}

function Mail({ mail }: { mail: Services['mail'] }) {
  const [isEditing, setEditing] = useState(false)
  return (
    <Section
      title="Mail"
      badge={mail.source !== null && <Badge tone="good">on</Badge>}
      lead="Used for password resets, email confirmations and notifications."
    >
      <p>{mail.server === null ? 'Outgoing email is off.' : `Sends through ${mail.server} as ${mail.from}.`}</p>
      <p className="text-sm text-muted">{describe(mail.source, 'SMTP_URL')}</p>
      {mail.source !== 'environment' && (
        <div className="flex flex-wrap gap-2">
          <Button aria-expanded={isEditing} onClick={() => setEditing(!isEditing)}>
            {mail.source === null ? 'Add a mail server' : 'Replace the mail server'}
          </Button>
          {mail.source === 'dashboard' && (
            <ForgetButton
              title="Remove the mail server?"
              lead="Users can no longer reset their password by email."
              forget={() => forgetMail()}
            />
          )}
        </div>
      )}
      {isEditing && <MailForm from={mail.from} onClose={() => setEditing(false)} />}
    </Section>
  )
}

function describe(source: Provider['source'], setting: string): string {
  if (source === 'environment') return `Set by the environment variable ${setting}. Change it there.`
  return source === 'dashboard' ? 'Set here.' : 'Not set.'
}

export function ProviderKeyForm({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const form = useForm(
    ProviderKeyRequest,
    async ({ apiKey }) => {
      await setProvider(id, { apiKey })
      onClose()
    },
    (error) => (hasCode(error, 'CREDENTIALS_REFUSED') ? 'apiKey' : null),
  )
  return (
    <Form form={form} verb="Test and save" onCancel={onClose}>
      <div className="grid max-w-md grid-cols-1 gap-4">
        <PasswordField label={`${name} API key`} name="apiKey" autoFocus />
      </div>
    </Form>
  )
}

export function MailForm({ from, onClose }: { from: string | null; onClose: () => void }) {
  const form = useForm(
    MailRequest,
    async (wish) => {
      await setMail(wish)
      onClose()
    },
    (error) => (hasCode(error, 'CREDENTIALS_REFUSED') ? 'smtpUrl' : null),
  )
  return (
    <Form form={form} verb="Test and save" onCancel={onClose}>
      <div className="grid max-w-md grid-cols-1 gap-4">
        <PasswordField
          label="SMTP URL"
          name="smtpUrl"
          autoFocus
          hint="For example smtps://NAME:PASSWORD@mail.example.com. Stored encrypted."
        />
        <TextField label="Sender" name="from" defaultValue={from ?? ''} hint="For example Stead <stead@example.com>." />
      </div>
    </Form>
  )
}
