import { useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import { ChangeKeyRequest, type Key } from '../../src/features/accounts/keys/schemas.ts'
import { TextArea, TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { changeKey, keysQuery } from './keys-api.ts'

const { allowedCidrs, cacheSeconds } = ChangeKeyRequest.shape
const Text = z.string().default('')

/** An empty field removes a setting. */
const AccessForm = z
  .object({
    allowedCidrs: Text.transform((text) => text.split(/[\s,]+/).filter((range) => range !== '')).pipe(
      allowedCidrs.unwrap().unwrap(),
    ),
    cacheSeconds: Text.transform((text) => (text.trim() === '' ? null : Number(text))).pipe(cacheSeconds.unwrap()),
    increaseUsd: Text.transform((text) => (text.trim() === '' ? null : Number(text))).pipe(
      z.number('Enter an amount of at least 0.01').min(0.01, 'Enter an amount of at least 0.01').nullable(),
    ),
    increaseUntil: Text,
  })
  .superRefine(({ increaseUsd, increaseUntil }, context) => {
    if (increaseUsd !== null && increaseUntil === '')
      context.addIssue({ code: 'custom', path: ['increaseUntil'], message: 'Choose the last day' })
  })
  .transform(({ increaseUsd, increaseUntil, ...change }) => ({
    ...change,
    budgetIncrease: increaseUsd === null ? null : { usd: increaseUsd, until: toEndOfDay(increaseUntil) },
  }))

/** Months and days of budgets are in UTC. */
function toEndOfDay(day: string): string {
  return `${day}T23:59:59.999Z`
}

/** Allowed addresses, the response cache, and a temporary budget of a key. */
export function AccessSection({ apiKey }: { apiKey: Key }) {
  const client = useQueryClient()
  const hasBudget = apiKey.limits.monthlyBudgetUsd !== null
  const form = useForm(AccessForm, async ({ budgetIncrease, ...change }) => {
    await changeKey(apiKey.id, hasBudget ? { ...change, budgetIncrease } : change)
    await client.invalidateQueries({ queryKey: keysQuery.queryKey })
  })
  return (
    <Section title="Access and cache" lead="Applies to every use of this key.">
      <Form form={form} verb="Save access">
        <TextArea
          label="Allowed addresses and ranges, one per line"
          name="allowedCidrs"
          rows={3}
          placeholder="all addresses; for example 203.0.113.0/24"
          autoCapitalize="none"
          spellCheck={false}
          defaultValue={apiKey.allowedCidrs.join('\n')}
        />
        <TextField
          label="Cache answers for seconds"
          name="cacheSeconds"
          inputMode="numeric"
          placeholder="Off"
          hint="The same request gets the same answer again, at no cost. At most one day (86400)."
          defaultValue={apiKey.cacheSeconds ?? ''}
        />
        {hasBudget && (
          <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
            <TextField
              label="Temporary increase in US dollars"
              name="increaseUsd"
              inputMode="decimal"
              placeholder="None"
              hint={`Added to the budget of $${apiKey.limits.monthlyBudgetUsd} per month`}
              defaultValue={apiKey.budgetIncrease?.usd ?? ''}
            />
            <TextField
              label="Last day of the increase"
              name="increaseUntil"
              type="date"
              hint="In UTC"
              defaultValue={apiKey.budgetIncrease?.until.slice(0, 10) ?? ''}
            />
          </div>
        )}
        {form.isDone && <Notice tone="good">Saved. Applies from the next call.</Notice>}
      </Form>
    </Section>
  )
}
