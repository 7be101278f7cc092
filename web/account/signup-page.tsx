import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate, useRouter } from '@tanstack/react-router'
import { RegisterRequest } from '../../src/features/accounts/schemas.ts'
import { ApiError } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { PasswordField, TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Notice } from '../ui/notice.tsx'
import { AuthFrame } from './auth-frame.tsx'
import { register, signIn } from './session.ts'

const route = getRouteApi('/signup')

/** `/signup`: creates the account, signs in with it and goes on. */
export function SignupPage() {
  const { redirect } = route.useSearch()
  const createAccount = useCreateAccount(redirect)
  const { formRef, problem, isPending, onSubmit } = useForm(RegisterRequest, createAccount, fieldOf)
  return (
    <AuthFrame
      title="Create your account"
      lead={
        <>
          Already have one?{' '}
          <Link to="/login" search={redirect ? { redirect } : {}} className="font-medium text-accent underline">
            Sign in
          </Link>
        </>
      }
    >
      <form ref={formRef} onSubmit={onSubmit} noValidate className="grid gap-4">
        {problem?.form && <Notice tone="problem">{problem.form}</Notice>}
        <TextField
          label="Name"
          name="name"
          autoComplete="name"
          maxLength={100}
          hint="Optional. Shown in your account only."
          error={problem?.fields.name}
        />
        <TextField label="Email" name="email" type="email" autoComplete="username" error={problem?.fields.email} />
        <PasswordField
          label="Password"
          name="password"
          autoComplete="new-password"
          hint="At least 8 characters. A sentence works well."
          error={problem?.fields.password}
        />
        <Honeypot />
        <Button type="submit" look="primary" isPending={isPending} className="mt-1 min-h-10">
          Create account
        </Button>
      </form>
    </AuthFrame>
  )
}

function useCreateAccount(redirect: string | undefined) {
  const client = useQueryClient()
  const router = useRouter()
  const navigate = useNavigate()
  return async (account: RegisterRequest) => {
    await register(account)
    try {
      await signIn(client, { email: account.email, password: account.password })
    } catch {
      return navigate({ to: '/login', search: { created: true, ...(redirect ? { redirect } : {}) } })
    }
    router.history.push(redirect ?? '/agents')
  }
}

/** People never see or reach this field; programs that fill every field give themselves away. */
function Honeypot() {
  return (
    <div aria-hidden="true" className="absolute -left-[9999px] size-px overflow-hidden">
      <input type="text" name="website" tabIndex={-1} autoComplete="off" defaultValue="" />
    </div>
  )
}

function fieldOf(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  if (error.status === 409 || /email/i.test(error.message)) return 'email'
  if (error.status === 400 && error.message.startsWith('Password')) return 'password'
  return null
}
