import { PasswordField, TextField } from '../ui/field.tsx'
import type { FormProblem } from '../ui/form.ts'

export function IdentityFields({ problem }: { problem: FormProblem | null }) {
  return (
    <>
      <TextField
        label="Name"
        name="name"
        autoComplete="name"
        maxLength={100}
        hint="Optional. Only you can see it."
        error={problem?.fields.name}
      />
      <TextField label="Email" name="email" type="email" autoComplete="username" error={problem?.fields.email} />
      <PasswordField
        label="Password"
        name="password"
        autoComplete="new-password"
        hint="At least 8 characters."
        error={problem?.fields.password}
      />
    </>
  )
}
