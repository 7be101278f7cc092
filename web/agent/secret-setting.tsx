import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import { z } from 'zod'
import { type SecretName, SecretSettings, type WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { FormNotice } from '../settings/form-notice.tsx'
import { AskDialog } from '../ui/ask-dialog.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { PasswordField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { useChangeConfig } from './use-config.ts'

type SecretSettingProps = { agent: WebAgent; name: SecretName; label: string; isSet: boolean; hint?: ReactNode }

export function SecretSetting({ agent, name, label, isSet, hint }: SecretSettingProps) {
  const change = useChangeConfig(agent.id)
  const [isAsking, setAsking] = useState(false)
  const removeRef = useRef<HTMLButtonElement>(null)
  const removal = useMutation({ mutationFn: () => change({ [name]: null }), onSuccess: () => setAsking(false) })
  const { formRef, problem, isPending, isDone, onSubmit } = useForm(
    z.object({ value: SecretSettings.shape[name] }),
    async ({ value }) => {
      await change({ [name]: value })
      formRef.current?.reset()
    },
    () => 'value',
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid max-w-md grid-cols-1 gap-3">
      {problem?.fields.value === undefined && <FormNotice problem={problem} />}
      <div className="grid grid-cols-1 gap-3">
        <div className="relative">
          <span className="absolute top-0 right-0 flex items-center gap-2">
            <span role="status" className="text-sm text-accent">
              {isDone && 'Saved'}
            </span>
            {isSet ? <Badge tone="good">Set</Badge> : <Badge>Not set</Badge>}
          </span>
          <PasswordField
            label={label}
            name="value"
            autoComplete="off"
            data-1p-ignore
            placeholder={isSet ? 'Enter a new value to replace it' : undefined}
            hint={hint}
            error={problem?.fields.value}
          />
        </div>
        <div className="flex gap-2">
          <Button type="submit" aria-label={`Save ${label}`} isPending={isPending}>
            Save
          </Button>
          {isSet && (
            <Button ref={removeRef} aria-label={`Remove ${label}`} onClick={() => setAsking(true)}>
              Remove
            </Button>
          )}
        </div>
      </div>
      {isAsking && (
        <AskDialog
          title={`Remove the ${label.toLowerCase()}?`}
          lead={`${agent.name} continues without it. A running agent restarts.`}
          verb="Remove"
          isPending={removal.isPending}
          error={removal.error}
          onConfirm={() => removal.mutate()}
          onClose={() => setAsking(false)}
          onCloseFocus={(event) => {
            event.preventDefault()
            const target = removeRef.current ?? formRef.current?.querySelector('input')
            target?.focus()
          }}
        />
      )}
    </form>
  )
}
