import { z } from 'zod'
import { Guardrails, REDACTIONS, type Redaction } from '../../src/features/accounts/guardrails/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { CheckField, SelectField, TextArea, TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'

const kinds: Readonly<Record<Redaction, string>> = {
  email: 'Email addresses',
  phone: 'Phone numbers',
  card: 'Card numbers',
  iban: 'Bank accounts (IBAN)',
  keys: 'API keys',
}

const Text = z.string().default('')
const Check = z
  .string()
  .optional()
  .transform((value) => value !== undefined)
const { deny, maxInputChars, webhook } = Guardrails.shape
const GuardWebhook = webhook.unwrap().unwrap()

/** The values of `GuardrailFields`. Empty fields switch a rule off; null when all are off. */
export const GuardrailsForm = z
  .object({
    deny: Text.transform((text) => text.split('\n').filter((line) => line.trim() !== '')).pipe(deny.unwrap()),
    maxInputChars: Text.transform((text) => (text.trim() === '' ? null : Number(text))).pipe(maxInputChars.unwrap()),
    url: Text.transform((text) => text.trim()),
    timeoutMs: Text.transform((text) => (text.trim() === '' ? undefined : Number(text))).pipe(
      GuardWebhook.shape.timeoutMs,
    ),
    onFailure: GuardWebhook.shape.onFailure,
    onInput: Check,
    onOutput: Check,
    email: Check,
    phone: Check,
    card: Check,
    iban: Check,
    keys: Check,
  })
  .superRefine(({ url }, context) => {
    if (url === '' || GuardWebhook.shape.url.safeParse(url).success) return
    context.addIssue({ code: 'custom', path: ['url'], message: 'Enter an http or https URL' })
  })
  .transform(({ url, timeoutMs, onFailure, deny: patterns, maxInputChars: maximum, onInput, onOutput, ...checked }) => {
    const redact = REDACTIONS.filter((kind) => checked[kind])
    const judge = url === '' ? null : { url, timeoutMs, onFailure }
    const isNothing = patterns.length === 0 && redact.length === 0 && maximum === null && judge === null
    return isNothing ? null : { deny: patterns, redact, maxInputChars: maximum, webhook: judge, onInput, onOutput }
  })

type GuardrailsSectionProps = {
  guardrails: Guardrails | null
  save: (guardrails: Guardrails | null) => Promise<void>
}

/** Rules for the texts of model calls, for keys and agents. */
export function GuardrailsSection({ guardrails, save }: GuardrailsSectionProps) {
  const form = useForm(GuardrailsForm, save)
  return (
    <Section
      title="Guardrails"
      badge={guardrails && <Badge>On</Badge>}
      lead="Checks the text of model calls before it is sent and before an answer is returned. Blocked requests are not charged."
    >
      <Form form={form} verb="Save guardrails">
        <GuardrailFields guardrails={guardrails} />
        {form.isDone && <Notice tone="good">Saved. Applies from the next call.</Notice>}
      </Form>
    </Section>
  )
}

export function GuardrailFields({ guardrails }: { guardrails: Guardrails | null }) {
  return (
    <>
      <TextArea
        label="Blocked words and phrases, one per line; * matches the rest of a word"
        name="deny"
        rows={3}
        placeholder={'project falcon\nacme-*'}
        defaultValue={guardrails?.deny.join('\n') ?? ''}
      />
      <fieldset className="grid grid-cols-1 gap-2.5">
        <legend className="mb-2 text-sm font-medium">Replace personal data</legend>
        <div className="grid grid-cols-1 gap-2.5 sm:grid-cols-2">
          {REDACTIONS.map((kind) => (
            <CheckField
              key={kind}
              label={kinds[kind]}
              name={kind}
              defaultChecked={guardrails?.redact.includes(kind) ?? false}
            />
          ))}
        </div>
      </fieldset>
      <TextField
        label="Maximum input characters"
        name="maxInputChars"
        inputMode="numeric"
        placeholder="No limit"
        defaultValue={guardrails?.maxInputChars ?? ''}
      />
      <WebhookFields webhook={guardrails?.webhook ?? null} />
      <fieldset className="grid grid-cols-1 gap-2.5 sm:grid-cols-2">
        <legend className="mb-2 text-sm font-medium">Check</legend>
        <CheckField label="Requests" name="onInput" defaultChecked={guardrails?.onInput ?? true} />
        <CheckField label="Answers" name="onOutput" defaultChecked={guardrails?.onOutput ?? true} />
      </fieldset>
    </>
  )
}

function WebhookFields({ webhook: set }: { webhook: Guardrails['webhook'] }) {
  return (
    <fieldset className="grid grid-cols-1 gap-4">
      <legend className="mb-2 text-sm font-medium">
        Webhook <span className="font-normal text-muted">(may block or rewrite texts)</span>
      </legend>
      <TextField
        label="Webhook URL"
        name="url"
        type="url"
        placeholder="https://guard.example.com/judge"
        autoCapitalize="none"
        spellCheck={false}
        defaultValue={set?.url ?? ''}
      />
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <TextField
          label="Timeout in milliseconds"
          name="timeoutMs"
          inputMode="numeric"
          placeholder="3000"
          defaultValue={set?.timeoutMs ?? ''}
        />
        <SelectField label="If the webhook fails" name="onFailure" defaultValue={set?.onFailure ?? 'closed'}>
          <option value="closed">Block the call</option>
          <option value="open">Let the call pass</option>
        </SelectField>
      </div>
    </fieldset>
  )
}
