import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import { CreateKeyRequest } from '../../src/features/accounts/keys/schemas.ts'
import { FormNotice } from '../settings/form-notice.tsx'
import { Button } from '../ui/button.tsx'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { createKey, keysQuery, type Scope } from './keys-api.ts'
import { LimitFields, limitShape } from './limit-fields.tsx'
import type { FreshKey } from './raw-key.tsx'

const scopes: { scope: Scope; label: string; hint: string }[] = [
  { scope: 'read', label: 'Read', hint: 'Read-only access to everything.' },
  { scope: 'agents', label: 'Agents', hint: 'Create, edit and message agents, and read their tokens.' },
  { scope: 'models', label: 'Models', hint: 'Call models within your plan.' },
  { scope: 'payments', label: 'Payments', hint: 'Send and receive payments.' },
]

/** A key with one of these limits can only call models. */
const spendingFields = ['monthlyBudgetUsd', 'monthlyTokens']

const KeyWish = z
  .looseObject({
    name: CreateKeyRequest.shape.name,
    days: z.enum(['never', '30', '90', '365']),
    ...limitShape,
  })
  .transform(({ name, days, monthlyBudgetUsd, monthlyTokens, requestsPerMinute, ...ticked }): CreateKeyRequest => {
    const chosen = scopes.flatMap(({ scope }) => (ticked[scope] === 'on' ? [scope] : []))
    return {
      name,
      monthlyBudgetUsd,
      monthlyTokens,
      requestsPerMinute,
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
      <Button type="submit" look="primary" className="justify-self-start" isPending={isPending}>
        Create key
      </Button>
    </form>
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
