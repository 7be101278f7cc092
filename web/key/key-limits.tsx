import { useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import { type Key, Limits } from '../../src/features/accounts/keys/schemas.ts'
import { changeKey, keysQuery } from '../keys/keys-api.ts'
import { LimitFields, limitShape } from '../keys/limit-fields.tsx'
import { SectionForm } from '../settings/section-form.tsx'
import { useForm } from '../ui/form.ts'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { TextArea } from '../ui/text-area.tsx'

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

export function KeyLimits({ apiKey }: { apiKey: Key }) {
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
      <SectionForm form={form} action="Save limits">
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
      </SectionForm>
    </Section>
  )
}

function describeForm(isForMore: boolean, mayDoAll: boolean): string {
  const until = 'The expiration date is fixed at creation. Rotate the key to change it.'
  if (isForMore) return `This key can do more than call models, so only a request limit applies. ${until}`
  return mayDoAll ? `A key with a cost, token or model limit can only call models. ${until}` : until
}
