import { useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import { ChangeKeyRequest, type Key } from '../../src/features/accounts/keys/schemas.ts'
import { FormNotice } from '../settings/form-notice.tsx'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { changeKey, keysQuery } from './keys-api.ts'

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
