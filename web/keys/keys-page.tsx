import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Ban, CircleCheck, Ellipsis, Pencil, RefreshCw, Trash2 } from 'lucide-react'
import { useRef, useState } from 'react'
import { z } from 'zod'
import { ChangeKeyRequest, CreateKeyRequest, type Key } from '../../src/features/accounts/keys/schemas.ts'
import { messageFor } from '../api/request.ts'
import { GuardrailFields, GuardrailsForm } from '../guardrails/guardrails-section.tsx'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { CheckField, FieldErrors, SelectField, TextField } from '../ui/field.tsx'
import { FormNotice, useForm } from '../ui/form.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Loaded, LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { DeleteKeyDialog, type FreshKey, RawKey, RotateKeyDialog } from './key-dialogs.tsx'
import { KeyBadges, KeyDates } from './key-facts.tsx'
import { changeKey, createKey, type KeyScope, keysQuery } from './keys-api.ts'
import { LimitFields, limitShape } from './limit-fields.tsx'

/** Page `/settings/keys`. */
export function KeysPage() {
  const [fresh, setFresh] = useState<FreshKey | null>(null)
  return (
    <SettingsFrame
      title="API keys"
      lead="For programs that act on your behalf. Send the header Authorization: Bearer sk_…."
    >
      {fresh && <RawKey key={fresh.key} fresh={fresh} onDone={() => setFresh(null)} />}
      <Section title="Create key">
        <KeyForm onCreated={setFresh} />
      </Section>
      <Section title="API keys">
        <Keys onRotated={setFresh} />
      </Section>
    </SettingsFrame>
  )
}

function Keys({ onRotated }: { onRotated: (fresh: FreshKey) => void }) {
  const query = useQuery(keysQuery)
  if (query.data?.length === 0) return <p className="text-sm text-muted">No API keys yet</p>
  return (
    <Loaded
      query={query}
      what="keys"
      placeholder={
        <LoadingShapes what="keys" className="grid gap-3">
          <Skeleton className="h-10" />
          <Skeleton className="h-10" />
        </LoadingShapes>
      }
    >
      {(keys) => (
        <ul aria-label="API keys" className="-my-3 divide-y divide-line">
          {keys.map((key) => (
            <KeyRow key={key.id} apiKey={key} onRotated={onRotated} />
          ))}
        </ul>
      )}
    </Loaded>
  )
}

type Mode = 'rest' | 'rename' | 'rotate' | 'delete'

export function KeyRow({ apiKey, onRotated }: { apiKey: Key; onRotated: (fresh: FreshKey) => void }) {
  const client = useQueryClient()
  const triggerRef = useRef<HTMLButtonElement>(null)
  const [mode, setMode] = useState<Mode>('rest')
  const rest = () => setMode('rest')
  const switching = useMutation({
    mutationFn: () => changeKey(apiKey.id, { disabled: !apiKey.disabled }),
    onSettled: () => client.invalidateQueries({ queryKey: keysQuery.queryKey }),
  })
  const focusMenu = (event: Event) => {
    event.preventDefault()
    // A new key takes the focus itself.
    if (document.activeElement !== document.body) return
    const target = triggerRef.current?.isConnected ? triggerRef.current : document.querySelector('h1')
    target?.focus()
  }
  return (
    <li className="grid grid-cols-1 gap-3 py-3">
      <div className="flex items-center gap-3">
        {mode === 'rename' ? (
          <RenameForm apiKey={apiKey} onClose={rest} />
        ) : (
          <>
            <div className="grid min-w-0 flex-1 grid-cols-1 gap-0.5">
              <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
                <Link
                  to="/keys/$keyId"
                  params={{ keyId: apiKey.id }}
                  className="min-w-0 font-medium break-words text-accent underline underline-offset-2"
                >
                  {apiKey.name}
                </Link>
                <KeyBadges apiKey={apiKey} />
              </p>
              <KeyDates apiKey={apiKey} />
            </div>
            <Menu
              trigger={
                <IconButton ref={triggerRef} label={`Actions for ${apiKey.name}`}>
                  <Ellipsis aria-hidden className="size-4.5" />
                </IconButton>
              }
              onCloseFocus={(event) => mode !== 'rest' && event.preventDefault()}
            >
              <MenuItem Icon={Pencil} onSelect={() => setMode('rename')}>
                Rename
              </MenuItem>
              <MenuItem Icon={RefreshCw} isDisabled={apiKey.disabled} onSelect={() => setMode('rotate')}>
                Rotate
              </MenuItem>
              <MenuItem
                Icon={apiKey.disabled ? CircleCheck : Ban}
                isDisabled={switching.isPending}
                onSelect={() => switching.mutate()}
              >
                {apiKey.disabled ? 'Enable' : 'Disable'}
              </MenuItem>
              <MenuItem Icon={Trash2} tone="danger" onSelect={() => setMode('delete')}>
                Delete
              </MenuItem>
            </Menu>
          </>
        )}
      </div>
      {switching.isError && <Notice tone="problem">{messageFor(switching.error)}</Notice>}
      {mode === 'rotate' && (
        <RotateKeyDialog apiKey={apiKey} onClose={rest} onRotated={onRotated} onCloseFocus={focusMenu} />
      )}
      {mode === 'delete' && <DeleteKeyDialog apiKey={apiKey} onClose={rest} onCloseFocus={focusMenu} />}
    </li>
  )
}

const NameForm = z.object({ name: ChangeKeyRequest.shape.name.unwrap() })

export function RenameForm({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const client = useQueryClient()
  const { formRef, problem, isPending, onSubmit } = useForm(
    NameForm,
    async (change) => {
      await changeKey(apiKey.id, change)
      await client.invalidateQueries({ queryKey: keysQuery.queryKey })
      onClose()
    },
    () => null,
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid flex-1 grid-cols-1 gap-3">
      <FormNotice problem={problem} />
      <TextField
        label={`New name of ${apiKey.name}`}
        name="name"
        autoComplete="off"
        autoFocus
        maxLength={64}
        defaultValue={apiKey.name}
        error={problem?.fields.name}
      />
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="primary" isPending={isPending}>
          Save name
        </Button>
        <Button look="ghost" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </form>
  )
}

const scopes: { scope: KeyScope; label: string; hint: string }[] = [
  { scope: 'read', label: 'Read', hint: 'Read-only access to everything.' },
  { scope: 'agents', label: 'Agents', hint: 'Create, edit and message agents, and read their tokens.' },
  { scope: 'models', label: 'Models', hint: 'Call models within your plan.' },
  { scope: 'payments', label: 'Payments', hint: 'Send and receive payments.' },
]

/** A key with one of these limits can only call models. */
const spendingFields = ['monthlyBudgetUsd', 'monthlyTokens', 'endUserBudgetUsd']

const KeyFields = z.looseObject({
  name: CreateKeyRequest.shape.name,
  days: z.enum(['never', '30', '90', '365']),
  ...limitShape,
})

const KeyWish = KeyFields.transform((fields, context): CreateKeyRequest => {
  const { name, days, monthlyBudgetUsd, monthlyTokens, requestsPerMinute, endUserBudgetUsd, ...ticked } = fields
  const guardrails = GuardrailsForm.safeParse(fields)
  for (const { path, message } of guardrails.error?.issues ?? []) context.addIssue({ code: 'custom', path, message })
  const chosen = scopes.flatMap(({ scope }) => (ticked[scope] === 'on' ? [scope] : []))
  return {
    name,
    monthlyBudgetUsd,
    monthlyTokens,
    requestsPerMinute,
    endUserBudgetUsd,
    ...(guardrails.data && { guardrails: guardrails.data }),
    ...(ticked.logBodies === 'on' && { logBodies: true }),
    ...(days !== 'never' && { expiresInDays: Number(days) }),
    ...(chosen.length > 0 && { scopes: chosen }),
  }
})

export function KeyForm({ onCreated }: { onCreated: (fresh: FreshKey) => void }) {
  const client = useQueryClient()
  const [isForModels, setForModels] = useState(false)
  const { formRef, problem, isPending, onSubmit } = useForm(
    KeyWish,
    async (wish) => {
      onCreated(await createKey(wish))
      formRef.current?.reset()
      await client.invalidateQueries({ queryKey: keysQuery.queryKey })
    },
    () => null,
  )
  const noteLimits = (form: HTMLFormElement) => {
    const values = new FormData(form)
    setForModels(spendingFields.some((name) => String(values.get(name) ?? '').trim() !== ''))
  }
  return (
    <form
      ref={formRef}
      onSubmit={onSubmit}
      onChange={({ currentTarget }) => noteLimits(currentTarget)}
      onReset={() => setForModels(false)}
      noValidate
      className="grid grid-cols-1 gap-4"
    >
      <FormNotice problem={problem} />
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <TextField
          label="Name"
          name="name"
          autoComplete="off"
          maxLength={64}
          placeholder="Backup script"
          error={problem?.fields.name}
        />
        <SelectField label="Expires" name="days" defaultValue="90">
          <option value="30">In 30 days</option>
          <option value="90">In 90 days</option>
          <option value="365">In 1 year</option>
          <option value="never">Never</option>
        </SelectField>
      </div>
      <ScopeFields isForModels={isForModels} />
      <LimitFields errors={problem?.fields ?? {}} />
      <CheckField
        label="Store request and answer bodies"
        name="logBodies"
        hint="Without keys and personal data, for 7 days, in the request log."
      />
      <GuardrailFold fields={problem?.fields ?? {}} />
      <Button type="submit" look="primary" className="justify-self-start" isPending={isPending}>
        Create key
      </Button>
    </form>
  )
}

/** Opens when one of its fields is wrong. */
function GuardrailFold({ fields }: { fields: Record<string, string> }) {
  const isWrong = ['deny', 'maxInputChars', 'url', 'timeoutMs'].some((name) => fields[name] !== undefined)
  return (
    <details open={isWrong}>
      <summary className="min-h-9 cursor-pointer py-2 text-sm font-medium">Guardrails</summary>
      <div className="mt-3 grid grid-cols-1 gap-4 rounded-lg bg-sunken p-4">
        <FieldErrors value={fields}>
          <GuardrailFields guardrails={null} />
        </FieldErrors>
      </div>
    </details>
  )
}

function ScopeFields({ isForModels }: { isForModels: boolean }) {
  return (
    <fieldset className="grid grid-cols-1 gap-3">
      <legend className="mb-2 text-sm font-medium">
        Permissions{' '}
        <span className="font-normal text-muted">
          {isForModels ? '(keys with a cost or token limit can only call models)' : '(select none for full access)'}
        </span>
      </legend>
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        {scopes.map(({ scope, label, hint }) => (
          <CheckField key={scope} label={label} name={scope} hint={hint} disabled={isForModels && scope !== 'models'} />
        ))}
      </div>
    </fieldset>
  )
}
