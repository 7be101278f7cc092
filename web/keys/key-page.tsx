import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { useState } from 'react'
import { z } from 'zod'
import { type Key, Limits } from '../../src/features/accounts/keys/schemas.ts'
import { ApiError, messageFor } from '../api/request.ts'
import { Requests } from '../cost/requests.tsx'
import { GuardrailsSection } from '../guardrails/guardrails-section.tsx'
import { Page } from '../shell/page.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { CheckField, TextArea } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ErrorNotice, Loaded, LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { AccessSection } from './access-section.tsx'
import { DeleteKeyDialog, type FreshKey, RawKey, RotateKeyDialog } from './key-dialogs.tsx'
import { KeyExamples } from './key-examples.tsx'
import { KeyBadges, KeyDates } from './key-facts.tsx'
import { KeyUsagePanel } from './key-usage.tsx'
import { changeKey, keyQuery, keysQuery } from './keys-api.ts'
import { LimitFields, limitShape } from './limit-fields.tsx'

const route = getRouteApi('/signed-in/keys/$keyId')

/** Page `/keys/:id`. */
export function KeyPage() {
  const { keyId } = route.useParams()
  const query = useQuery(keyQuery(keyId))
  const isGone = query.error instanceof ApiError && query.error.status === 404
  return (
    <Page
      title={query.data?.name ?? (isGone ? 'Key not found' : 'API key')}
      lead={
        <Link to="/settings/keys" className="inline-flex items-center gap-1.5 text-accent underline underline-offset-2">
          <ArrowLeft aria-hidden className="size-4" />
          All API keys
        </Link>
      }
    >
      {isGone ? (
        <Notice tone="note" title="API key not found">
          <p>It was deleted or belongs to another account.</p>
          <Link to="/settings/keys" className={`${buttonClass('plain')} justify-self-start`}>
            Show all API keys
          </Link>
        </Notice>
      ) : (
        <Loaded query={query} what="key" placeholder={<Loading />}>
          {(apiKey) => <OneKey key={apiKey.id} apiKey={apiKey} />}
        </Loaded>
      )}
    </Page>
  )
}

function OneKey({ apiKey }: { apiKey: Key }) {
  const [fresh, setFresh] = useState<FreshKey | null>(null)
  return (
    <>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="grid min-w-0 grid-cols-1 gap-1.5">
          <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
            <KeyBadges apiKey={apiKey} />
          </p>
          <KeyDates apiKey={apiKey} />
        </div>
        <KeyActions apiKey={apiKey} onRotated={setFresh} />
      </div>
      {fresh && <RawKey key={fresh.key} fresh={fresh} onDone={() => setFresh(null)} />}
      <KeyUsagePanel keyId={apiKey.id} />
      <KeyLimitsSection apiKey={apiKey} />
      <BodyLogging apiKey={apiKey} />
      <AccessSection apiKey={apiKey} />
      <KeyGuardrails apiKey={apiKey} />
      <Section
        title="Usage example"
        lead="Replace YOUR_KEY with your key. Keys are shown only once, when they are created."
      >
        <div className="grid grid-cols-1 rounded-lg bg-sunken p-3">
          <KeyExamples secret="YOUR_KEY" allowed={apiKey.limits.models} />
        </div>
      </Section>
      <Requests chosen={{ key: apiKey.id }} />
    </>
  )
}

function Loading() {
  return (
    <LoadingShapes what="key" className="grid gap-6">
      <Skeleton className="h-12 w-80 max-w-full" />
      <Skeleton className="h-40 rounded-xl" />
      <Skeleton className="h-80 rounded-xl" />
    </LoadingShapes>
  )
}

const keepFocus = () => undefined

export function KeyActions({ apiKey, onRotated }: { apiKey: Key; onRotated: (fresh: FreshKey) => void }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [asked, setAsked] = useState<'rotate' | 'delete' | null>(null)
  const rest = () => setAsked(null)
  const switching = useMutation({
    mutationFn: () => changeKey(apiKey.id, { disabled: !apiKey.disabled }),
    onSettled: () => client.invalidateQueries({ queryKey: keysQuery.queryKey }),
  })
  return (
    <div className="grid grid-cols-1 gap-3">
      <div className="flex flex-wrap gap-2">
        <Button disabled={apiKey.disabled} onClick={() => setAsked('rotate')}>
          Rotate
        </Button>
        <Button isPending={switching.isPending} onClick={() => switching.mutate()}>
          {apiKey.disabled ? 'Enable' : 'Disable'}
        </Button>
        <Button look="danger" onClick={() => setAsked('delete')}>
          Delete key
        </Button>
      </div>
      {apiKey.disabled && (
        <p className="text-sm text-muted">Requests with this key are rejected until you enable it again.</p>
      )}
      {switching.isError && <Notice tone="problem">{messageFor(switching.error)}</Notice>}
      {asked === 'rotate' && (
        <RotateKeyDialog apiKey={apiKey} onClose={rest} onRotated={onRotated} onCloseFocus={keepFocus} />
      )}
      {asked === 'delete' && (
        <DeleteKeyDialog
          apiKey={apiKey}
          onClose={rest}
          onDeleted={() => void navigate({ to: '/settings/keys' })}
          onCloseFocus={keepFocus}
        />
      )}
    </div>
  )
}

function BodyLogging({ apiKey }: { apiKey: Key }) {
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: (logBodies: boolean) => changeKey(apiKey.id, { logBodies }),
    onSettled: () => client.invalidateQueries({ queryKey: keysQuery.queryKey }),
  })
  return (
    <Section title="Body logging" lead="Shows the content of requests and answers in the request log.">
      <ErrorNotice error={change.error} />
      <CheckField
        label="Store request and answer bodies"
        hint="Without keys and personal data, up to 64 KiB each, for 7 days. Only you can read them."
        checked={apiKey.logBodies}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.target.checked)}
      />
      <Link
        to="/requests"
        search={{ key: apiKey.id }}
        className="justify-self-start text-accent underline underline-offset-2"
      >
        Show requests of this key
      </Link>
    </Section>
  )
}

/** One model per line; empty allows all. */
const Models = z
  .string()
  .default('')
  .transform((text) => text.split(/[\s,]+/).filter((id) => id !== ''))
  .transform((ids) => (ids.length === 0 ? null : ids))
  .pipe(Limits.shape.models)

const LimitChange = z.object({ ...limitShape, models: Models })
/** A key with more permissions can be rate-limited, but has no spending limit. */
const RateChange = z.object({ requestsPerMinute: limitShape.requestsPerMinute })

export function KeyLimitsSection({ apiKey }: { apiKey: Key }) {
  const client = useQueryClient()
  const { limits, scopes } = apiKey
  // `ai` is a former name of `models`.
  const isForMore = scopes.some((scope) => scope !== 'models' && scope !== 'ai')
  const form = useForm(
    isForMore ? RateChange : LimitChange,
    async (change) => {
      await changeKey(apiKey.id, change)
      await client.invalidateQueries({ queryKey: keysQuery.queryKey })
    },
    () => null,
  )
  return (
    <Section title="Limits" lead={describeForm(isForMore, scopes.length === 0)}>
      <Form form={form} verb="Save limits">
        <LimitFields errors={form.problem?.fields ?? {}} limits={limits} isForMore={isForMore} />
        {!isForMore && (
          <TextArea
            label="Allowed models, one per line"
            name="models"
            rows={3}
            placeholder="all models of your plan"
            autoCapitalize="none"
            autoComplete="off"
            defaultValue={limits.models?.join('\n') ?? ''}
            error={form.problem?.fields.models}
          />
        )}
        {form.isDone && <Notice tone="good">Saved. Applies from the next call.</Notice>}
      </Form>
    </Section>
  )
}

function KeyGuardrails({ apiKey }: { apiKey: Key }) {
  const client = useQueryClient()
  return (
    <GuardrailsSection
      guardrails={apiKey.guardrails}
      save={async (guardrails) => {
        await changeKey(apiKey.id, { guardrails })
        await client.invalidateQueries({ queryKey: keysQuery.queryKey })
      }}
    />
  )
}

function describeForm(isForMore: boolean, mayDoAll: boolean): string {
  const until = 'The expiration date is fixed at creation. Rotate the key to change it.'
  if (isForMore) return `This key can do more than call models, so only a request limit applies. ${until}`
  return mayDoAll ? `A key with a cost, token or model limit can only call models. ${until}` : until
}
